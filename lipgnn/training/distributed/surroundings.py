"""Which of how many workers this process is, as far as whoever started it says; no torch here.

torchrun, Ray Train and MPI launchers that imitate them set RANK, WORLD_SIZE, LOCAL_WORLD_SIZE, MASTER_ADDR and
MASTER_PORT. Slurm's srun sets SLURM_PROCID and SLURM_STEP_NUM_TASKS; the script of a batch job, which is one process
however many tasks it asked for, lacks the latter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from lipgnn.errors import EnvironmentBroken

LOOPBACK = "127.0.0.1"
_TORCH = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
# Where the ports of Slurm's steps begin, and how many there are: above those of services, below those of clients.
_FIRST_PORT, _PORTS = 15000, 17000


@dataclass(frozen=True)
class Place:
    """One of several workers that a launcher has started.

    Attributes
    ----------
    rank, world : which one, of how many.
    local_rank, machine : which one of how many on this machine.
    address, port : where worker 0 waits for the others.
    """

    rank: int
    world: int
    local_rank: int
    machine: int
    address: str
    port: int

    @property
    def loopback(self) -> bool:
        """Whether all of them are on this machine."""
        return self.address in (LOOPBACK, "localhost", "::1")


def find_place(environment: Mapping[str, str]) -> Place | None:
    """The place of this process among several; None where there is no other.

    Raises
    ------
    EnvironmentBroken : what the launcher says does not fit together.
    """
    if "RANK" in environment and "WORLD_SIZE" in environment:
        missing = [name for name in _TORCH if name not in environment]
        place = _numbers(environment, ("RANK", "WORLD_SIZE"), ("LOCAL_RANK", "LOCAL_WORLD_SIZE"))
    elif "SLURM_PROCID" in environment and "SLURM_STEP_NUM_TASKS" in environment:
        missing = []
        place = _numbers(environment, ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"), ("SLURM_LOCALID", ""))
    else:
        return None
    rank, world, local_rank, machine = place
    if world <= 1:
        return None
    if missing or not 0 <= rank < world:
        what = f"it has no {' and no '.join(missing)}" if missing else f"worker {rank} is none of {world}"
        raise EnvironmentBroken(
            f"The environment says that this is one of {world} workers, and {what}.",
            "Start it with torchrun or srun, or unset RANK and WORLD_SIZE.",
        )
    if "RANK" not in environment or "MASTER_ADDR" not in environment:
        machine = _tasks_here(environment, world)
    address = environment.get("MASTER_ADDR") or _first_host(environment)
    return Place(rank, world, local_rank, machine, address, _port(environment))


def _numbers(environment: Mapping[str, str], needed: tuple[str, str], local: tuple[str, str]) -> tuple[int, ...]:
    texts = [environment[name] for name in needed]
    texts += [environment.get(local[0], "0"), environment.get(local[1], texts[1])]
    if not all(text.isdecimal() for text in texts):
        raise EnvironmentBroken(
            f"{needed[0]} and {needed[1]} must be whole numbers, got {texts[0]!r} and {texts[1]!r}.",
            "Start it with torchrun or srun, or unset them.",
        )
    return tuple(map(int, texts))


def _tasks_here(environment: Mapping[str, str], world: int) -> int:
    """How many tasks of a Slurm step are on each machine, at most: 2(x3),1 is 2 on three of them and 1 on another."""
    counts = re.findall(r"(\d+)(?:\(x\d+\))?", environment.get("SLURM_STEP_TASKS_PER_NODE", ""))
    return max(map(int, counts), default=world)


def _first_host(environment: Mapping[str, str]) -> str:
    """The first name of a list of Slurm's, such as node[07-09,12] or a,b; this machine where the step is on one."""
    if environment.get("SLURM_STEP_NUM_NODES", "1") == "1":
        return LOOPBACK
    hosts = environment.get("SLURM_STEP_NODELIST", "")
    found = re.match(r"([^,\[]+)(?:\[([^\],-]+)[^\]]*\]([^,]*))?", hosts)
    if not found:
        raise EnvironmentBroken(
            f"Slurm names no machine on which worker 0 is: SLURM_STEP_NODELIST is {hosts!r}.", "Set MASTER_ADDR."
        )
    return "".join(part or "" for part in found.groups())


def _port(environment: Mapping[str, str]) -> int:
    """As told, or one that the steps of other Slurm jobs do not have."""
    if text := environment.get("MASTER_PORT"):
        if not text.isdecimal() or not 0 < int(text) < 2**16:
            raise EnvironmentBroken(f"MASTER_PORT must be the number of a port, got {text!r}.", "Use 29500, say.")
        return int(text)
    job, step = (environment.get(name, "0") for name in ("SLURM_JOB_ID", "SLURM_STEP_ID"))
    number = (int(job) if job.isdecimal() else 0) * 7 + (int(step) if step.isdecimal() else 0)
    return _FIRST_PORT + number % _PORTS
