"""Everything is in setup.cfg but the compiled kernel, built where it is installed, and what source archives hold.

Pythons that are too old must be able to read this file, to say what is the matter.
"""

import glob
import os
import platform
import sys

from setuptools import Extension, setup
from setuptools.command.sdist import sdist

if not (3, 10) <= sys.version_info[:2] <= (3, 12):
    # pip would look for versions of the dependencies first, and then tell of these.
    sys.exit(
        f"lipgnn needs Python 3.10, 3.11 or 3.12, and this is Python {platform.python_version()}: make the environment "
        "with one of them, for example python3.12 -m venv .venv"
    )

FLAGS = ["-O3", "-std=c++17", "-fopenmp", "-fno-math-errno", "-Wno-psabi"]
LINKED = ["-fopenmp"]
if platform.machine() in ("x86_64", "AMD64"):
    # Not -march=native: a folder of packages may be shared by machines with different processors. Those without AVX2
    # are found out when the program runs (lipgnn/kernels/native.py).
    FLAGS += ["-mavx2", "-mfma"]
# "address,undefined" has the compiled code watch itself (tests/lipgnn/kernels/test_sanitized.py builds and runs it so).
sanitizers = os.environ.get("LIPGNN_SANITIZE")
if sanitizers:
    FLAGS += ["-O1", "-g", "-fno-omit-frame-pointer", "-fno-sanitize-recover=all", f"-fsanitize={sanitizers}"]
    LINKED += [f"-fsanitize={sanitizers}"]

# What a clone has beside packages and their data: tests, pages, pictures, and how the data was made.
FOLDERS = ("tests", "data", "results/bench", "results/studies", ".ci")


class WholeTree(sdist):
    """A source archive from which the tests can be run as well."""

    def make_distribution(self):
        """Add all files of FOLDERS, and of other folders what no package has."""
        found = [path for top in FOLDERS for path in glob.glob(top + "/**", recursive=True)]
        found += ["results/README.md", ".ruff.toml", ".gitignore"]
        self.filelist.extend(path for path in found if os.path.isfile(path) and "__pycache__" not in path)
        self.filelist.sort()
        self.filelist.remove_duplicates()
        super().make_distribution()


setup(
    cmdclass={"sdist": WholeTree},
    ext_modules=[
        Extension(
            "lipgnn.kernels._native",
            sources=["lipgnn/kernels/native/library.cpp"],
            depends=sorted(glob.glob("lipgnn/kernels/native/*.h")),
            extra_compile_args=FLAGS,
            extra_link_args=LINKED,
            language="c++",
            # Without a compiler the program works all the same, with DGL's message passing.
            optional=not sanitizers,
        )
    ],
)
