"""Build the compiled kernels under AddressSanitizer and UBSan in a copy of the project, and run their tests with them.

python tests/support/sanitize.py [arguments of pytest; by default the tests of kernels and layers]
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SANITIZERS = {"address": "libasan.so", "undefined": "libubsan.so"}
# libxsmm, which DGL calls, asks for memory in a way that the sanitizer takes for a fault.
RUN = "import sys, pytest; from lipgnn.runtime import dgl; dgl.use_libxsmm(False); sys.exit(pytest.main(sys.argv[1:]))"
TESTS = ("tests/lipgnn/kernels", "tests/lipgnn/nn")


def main(arguments: list[str]) -> int:
    """The exit code of pytest; 0 is clean, for what a sanitizer finds ends the process at once."""
    with tempfile.TemporaryDirectory(prefix="lipgnn-sanitized-") as folder:
        for name in ("setup.py", "setup.cfg", "README.md", "LICENSE"):
            shutil.copy(ROOT / name, folder)
        for name in ("lipgnn", "cli", "data", "tests"):
            left_out = shutil.ignore_patterns("__pycache__", "*.so")
            shutil.copytree(ROOT / name, Path(folder) / name, ignore=left_out)
        build = [sys.executable, "setup.py", "--quiet", "build_ext", "--inplace"]
        chosen = {**os.environ, "LIPGNN_SANITIZE": ",".join(SANITIZERS)}
        subprocess.run(build, cwd=folder, env=chosen, check=True)
        return subprocess.run(
            [sys.executable, "-c", RUN, "-n", "0", "-p", "no:cacheprovider", "--capture=no", *(arguments or TESTS)],
            cwd=folder,
            env={**os.environ, **watched()},
        ).returncode


def watched() -> dict[str, str]:
    """The environment in which Python, which is not built so, can load code that is."""
    found = [
        subprocess.check_output(["g++", f"-print-file-name={name}"], text=True).strip() for name in SANITIZERS.values()
    ]
    return {
        "LD_PRELOAD": ":".join(found),
        # What Python and torch leave behind when they end is not ours.
        "ASAN_OPTIONS": "detect_leaks=0",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        # Threads of their own would each be slow.
        "OMP_NUM_THREADS": "2",
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
