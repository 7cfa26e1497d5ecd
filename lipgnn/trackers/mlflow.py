"""Logging for MLflow: the database `mlflow.db` in the folder of results, unless MLFLOW_TRACKING_URI names a server."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from lipgnn.trackers.tracker import PROJECT, Tracked

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Metric

# The tag by which a run that goes on is found again.
TAG = "lipgnn.tracking_id"
_STATUS = {"done": "FINISHED", "diverged": "FINISHED", "interrupted": "KILLED", "failed": "FAILED"}
# So many metrics and parameters MLflow takes at once.
_METRICS, _PARAMS = 1000, 100
# Metrics wait so long for others, because every call is a transaction.
_SECONDS = 1.0


class MLflow:
    """Metrics by epoch, options and facts as parameters, the status as tag, and the figure as artifact.

    It has a client of its own, so that the active run of who calls from Python stays as it is. The experiment is
    `lipgnn`, or what MLFLOW_EXPERIMENT_NAME says. Without a server, artifacts are in `mlflow-artifacts` beside the
    database.
    """

    def __init__(self, run: Tracked):
        # It reports its use over the network otherwise, which nobody asked for.
        os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
        with _alone(run.results / ".mlflow.lock"):
            self._client, experiment = _open(run.results)
            found = self._client.search_runs([experiment], f"tags.`{TAG}` = '{run.id}'", max_results=1)
            self._id = found[0].info.run_id if found else self._create(experiment, run)
        self._client.update_run(self._id, "RUNNING")
        self.last = self._last_epoch() if found else -1
        self._waiting: list[Metric] = []
        self._sent = time.monotonic()

    def _create(self, experiment: str, run: Tracked) -> str:
        from mlflow.entities import Param

        made = self._client.create_run(experiment, run_name=run.title, tags={TAG: run.id}).info.run_id
        params = [Param(name, str(value)) for name, value in run.known.items() if str(value)]
        for start in range(0, len(params), _PARAMS):
            self._client.log_batch(made, params=params[start : start + _PARAMS])
        return made

    def _last_epoch(self) -> int:
        """The last epoch that was logged before: of a run that was killed, maybe one after its checkpoint."""
        return max((metric.step for metric in self._client.get_metric_history(self._id, "val_loss")), default=-1)

    def log(self, epoch: int, numbers: Mapping[str, float]) -> None:
        from mlflow.entities import Metric

        now = int(time.time() * 1000)
        self._waiting += [Metric(name, value, now, epoch) for name, value in numbers.items()]
        if time.monotonic() > self._sent + _SECONDS:
            self._send()

    def _send(self) -> None:
        for start in range(0, len(self._waiting), _METRICS):
            self._client.log_batch(self._id, metrics=self._waiting[start : start + _METRICS])
        self._waiting, self._sent = [], time.monotonic()

    def end(self, status: str, epoch: int, numbers: Mapping[str, float], figure: Path | None) -> None:
        self.log(epoch, numbers)
        self._send()
        if figure is not None:
            self._client.log_artifact(self._id, str(figure))
        self._client.set_tag(self._id, "status", status)
        self._client.set_terminated(self._id, _STATUS[status])


def _open(results: Path) -> tuple[MlflowClient, str]:
    """A client, and the id of the experiment."""
    from mlflow import MlflowClient

    server = os.environ.get("MLFLOW_TRACKING_URI")
    client = MlflowClient(server or f"sqlite:///{results / 'mlflow.db'}")
    name = os.environ.get("MLFLOW_EXPERIMENT_NAME", PROJECT)
    experiment = client.get_experiment_by_name(name)
    if experiment is not None:
        return client, experiment.experiment_id
    return client, client.create_experiment(name, None if server else (results / "mlflow-artifacts").as_uri())


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    """One process at a time: two that make the tables of one database stand in each other's way."""
    with open(path, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
