"""Logging for Trackio: the folder `trackio` in the folder of results, unless TRACKIO_DIR names another."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from lipgnn.trackers.tracker import PROJECT, Tracked


class Trackio:
    """Metrics by epoch, options and facts as config, and the figure as image.

    TRACKIO_DIR, TRACKIO_SPACE_ID and TRACKIO_SERVER_URL hold as everywhere. Trackio reads the first of them when it is
    imported: a process writes into one folder, that of its first run. It sends from a thread of its own, so of a
    process that is killed the last second may be missing.
    """

    def __init__(self, run: Tracked):
        os.environ.setdefault("TRACKIO_DIR", str(run.results / "trackio"))
        import trackio

        self._trackio = trackio
        alone = {"embed": False, "auto_log_gpu": False, "auto_log_cpu": False}
        self._run = trackio.init(PROJECT, name=run.id, config=run.known, resume="allow", **alone)
        # Trackio looks up where a run that goes on has ended, and keeps that to itself.
        self.last = getattr(self._run, "_next_step", run.epoch + 1) - 1

    def log(self, epoch: int, numbers: Mapping[str, float]) -> None:
        self._run.log(dict(numbers), step=epoch)

    def end(self, status: str, epoch: int, numbers: Mapping[str, float], figure: Path | None) -> None:
        picture = {} if figure is None else {"diagnose": self._trackio.Image(str(figure))}
        self._run.log({"status": status, **numbers, **picture}, step=epoch)
        self._trackio.finish()
