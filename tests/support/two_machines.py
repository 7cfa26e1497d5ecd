"""One run on two machines, each of which is a network namespace of this one, joined by a cable of their own.

    python tests/support/two_machines.py FOLDER [OPTION …]

runs `lipgnn train OPTION …` with a worker on each of them, started by torchrun as on real machines. Each works in a
folder of its own below FOLDER, one and two. It takes the rights to make network namespaces (root), and `ip`. Nothing is
left behind: the namespaces are named after this process and removed at the end.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

PORT = 29400
RUN = [
    *("--dataset", "planted", "--batch-size", "16", "--layers", "2", "--hidden", "2", "--heads", "2"),
    *("--epochs", "4", "--patience", "0", "--compress", "topk:0.1", "--optimizer", "sgd", "-q", "--json"),
]


def obstacle() -> str | None:
    """Why this cannot be tried here; None where it can."""
    if not shutil.which("ip"):
        return "there is no command ip"
    name = f"lipgnn-try-{os.getpid()}"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True)
    if made.returncode:
        return f"network namespaces may not be made here: {made.stderr.strip()}"
    subprocess.run(["ip", "netns", "delete", name], check=True)
    return None


@contextlib.contextmanager
def machines() -> Iterator[dict[str, str]]:
    """Two namespaces and their addresses, with a pair of virtual network devices between them."""
    places = {f"lipgnn-{number}-{os.getpid()}": f"10.77.0.{number}" for number in (1, 2)}
    first, second = places
    try:
        for place in places:
            _ip("netns", "add", place)
            _ip("-n", place, "link", "set", "lo", "up")
        peer = ("type", "veth", "peer", "name", "cable", "netns", second)
        _ip("link", "add", "cable", "netns", first, *peer)
        for place, address in places.items():
            _ip("-n", place, "address", "add", f"{address}/24", "dev", "cable")
            _ip("-n", place, "link", "set", "cable", "up")
        yield places
    finally:
        for place in places:
            subprocess.run(["ip", "netns", "delete", place], capture_output=True)


def run(folder: Path, options: list[str]) -> list[subprocess.CompletedProcess]:
    """Train, and give what became of the process on each machine."""
    beside = Path(sys.executable).parent
    with machines() as places:
        processes = []
        for rank, place in enumerate(places):
            own = folder / ("one", "two")[rank]
            own.mkdir(parents=True)
            command = [
                *("ip", "netns", "exec", place, sys.executable, "-m", "torch.distributed.run"),
                *("--nnodes", "2", "--node-rank", str(rank), "--nproc-per-node", "1"),
                *("--master-addr", next(iter(places.values())), "--master-port", str(PORT)),
                *("--no-python", str(beside / "lipgnn"), "train", *options),
            ]
            variables = {**os.environ, "GLOO_SOCKET_IFNAME": "cable", "OMP_NUM_THREADS": "1"}
            streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
            processes.append(subprocess.Popen(command, cwd=own, env=variables, **streams))
        try:
            ends = [process.communicate(timeout=300) for process in processes]
        finally:
            for process in processes:
                process.kill()
    return [
        subprocess.CompletedProcess(process.args, process.returncode, *end)
        for process, end in zip(processes, ends, strict=True)
    ]


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


def main() -> None:
    """Run, and show what both machines printed."""
    if reason := obstacle():
        sys.exit(f"This cannot be tried here: {reason}.")
    folder, *options = sys.argv[1:]
    for name, done in zip(("one", "two"), run(Path(folder), options or RUN), strict=True):
        sys.stdout.write(f"machine {name}: exit code {done.returncode}\n{done.stdout}{done.stderr}\n")


if __name__ == "__main__":
    main()
