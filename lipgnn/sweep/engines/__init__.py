"""Where the runs of a sweep are computed: processes of this machine, a Ray cluster, or Slurm."""

from __future__ import annotations

from lipgnn.errors import UsageError, unknown_name
from lipgnn.sweep.engines.events import Ended, Event, Orders, Progress
from lipgnn.sweep.engines.local import LocalEngine
from lipgnn.sweep.engines.remote import RemoteEngine, remove_dead_sweeps

ENGINES = ("local", "ray", "slurm")

__all__ = ["ENGINES", "Ended", "Event", "LocalEngine", "Orders", "Progress", "make_engine", "remove_dead_sweeps"]


def make_engine(name: str, orders: Orders, address: str | None = None) -> LocalEngine | RemoteEngine:
    """The engine of a name; what only one of them needs is imported here.

    Parameters
    ----------
    address : of a running Ray cluster; for Slurm `local`, which tries it without a cluster.

    Raises
    ------
    UsageError : no such engine, or an address for local processes.
    EnvironmentBroken : the package that the engine needs is not installed.
    """
    if name == "ray":
        from lipgnn.sweep.engines.ray import RayEngine

        return RayEngine(orders, address)
    if name == "slurm":
        from lipgnn.sweep.engines.slurm import SlurmEngine

        return SlurmEngine(orders, address or "slurm")
    if name != "local":
        raise unknown_name("engine", name, ENGINES)
    if address:
        raise UsageError(f"Local processes have no address, got {address!r}.", "Add --engine ray or slurm.")
    return LocalEngine(orders)
