"""Runs on a Ray cluster: one that is up, or one started for this sweep on this machine."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lipgnn.errors import EnvironmentBroken
from lipgnn.runtime import POLITE_SIGNALS
from lipgnn.sweep.engines.events import Ended, Orders
from lipgnn.sweep.engines.remote import Lost, RemoteEngine, Task, import_extra, supervise

_KNOCK_SECONDS = 10.0


class RayEngine(RemoteEngine):
    """Hands every run to a Ray task that is never retried by Ray.

    Ray keeps the processes of its tasks, and they their workers, so that runs find them warm. A run takes
    `orders.threads` CPUs of the cluster, and a GPU if its device is cuda.

    Parameters
    ----------
    address : of a running cluster, such as `auto` or `HOST:6379`; None starts one that ends with the sweep.

    Raises
    ------
    EnvironmentBroken : Ray is not installed.
    """

    def __init__(self, orders: Orders, address: str | None = None):
        super().__init__(orders)
        self.address = address
        # A cluster that lives for one sweep has no need to report its use over the network.
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        self._ray = import_extra("ray", "ray")
        # Whatever log_to_driver says, Ray prints on stdout that a process died; the reason is told by us.
        self._ray._private.worker._worker_logs_enabled = False

    def open(self, folder: Path) -> None:
        if self._ray.is_initialized():
            return
        where: dict[str, Any] = {"address": self.address}
        if self.address is None:
            cpus = self.orders.jobs * self.orders.threads
            where = {"address": "local", "num_cpus": cpus, "include_dashboard": False}
        else:
            self._knock()
        variables = {name: value for name, value in os.environ.items() if name.startswith("LIPGNN_")}
        try:
            with _own_signals():
                self._ray.init(
                    **where, log_to_driver=False, logging_level=logging.ERROR, runtime_env={"env_vars": variables}
                )
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise self._unreachable(error) from error

    def _knock(self) -> None:
        """Ask whether somebody listens, which takes Ray itself some minutes."""
        host, _, port = self.address.removeprefix("ray://").rpartition(":")
        if port.isdecimal():
            try:
                socket.create_connection((host, int(port)), _KNOCK_SECONDS).close()
            except (OSError, OverflowError) as error:
                raise self._unreachable(error) from error

    def _unreachable(self, error: Exception) -> EnvironmentBroken:
        return EnvironmentBroken(
            f"Cannot reach a Ray cluster at {self.address or 'local'!r}: {error}",
            "Give the --address that `ray start` printed, and RAY_AUTH_TOKEN if the cluster wants one; or no address.",
        )

    def submit(self, task: Task) -> Any:
        gpus = 1 if task.planned.spec.device.startswith("cuda") else 0
        remote = self._ray.remote(num_cpus=self.orders.threads, num_gpus=gpus, max_retries=0)(supervise)
        return remote.remote(task)

    def outcome(self, handle: Any) -> Ended | None:
        ready, _ = self._ray.wait([handle], timeout=0)
        if not ready:
            return None
        try:
            return self._ray.get(handle)
        except self._ray.exceptions.RayError as error:
            # The first line says what happened; a task that raised has its own error in the last.
            lines = str(error).strip().splitlines() or [type(error).__name__]
            raised = isinstance(error, self._ray.exceptions.RayTaskError)
            raise Lost(f"{type(error).__name__}: {lines[-1 if raised else 0]}") from error

    def withdraw(self, handle: Any) -> None:
        self._ray.cancel(handle)

    def close(self) -> None:
        self._ray.shutdown()


@contextlib.contextmanager
def _own_signals() -> Iterator[None]:
    """Keep the handlers that a sweep stops by; Ray puts its own in their place, which end the process."""
    earlier = {number: signal.getsignal(number) for number in POLITE_SIGNALS}
    yield
    for number, handler in earlier.items():
        signal.signal(number, handler)
