"""How long runs may take, from those that ran: by the same shape of network, else roughly by size. No torch here."""

from __future__ import annotations

import functools
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from lipgnn.catalog import task_of
from lipgnn.spec.run import RunSpec

_COUNTED = ("seconds_per_epoch", "layers", "hidden", "heads", "epochs_run", "epochs")


class Paces:
    """The paces of past runs.

    A run of the same data set, model and width gives seconds per epoch and layer. Where there is none, time is taken
    to grow with layers × edges × width: by the median of the same model, else of all runs. That is a rough guess. The
    share of its epochs that a run uses is that of runs which end alike, of the same shape where there are any.

    Parameters
    ----------
    rows : results, each with the columns of results.csv; read once and let go.
    """

    def __init__(self, rows: Iterable[Mapping[str, Any]]):
        paces: dict[tuple, list[float]] = defaultdict(list)
        # How much of their epochs runs used, by shape, or None for any, and by what ends them early.
        shares: dict[tuple, list[float]] = defaultdict(list)
        for row in rows:
            # A row may be of anybody, and be no run that there could have been.
            if all((row[name] or 0) > 0 for name in _COUNTED):
                pace = row["seconds_per_epoch"] / row["layers"]
                paces[_shape(row)].append(pace)
                for shape in (_shape(row), None):
                    shares[shape, _ends_early(row)].append(row["epochs_run"] / row["epochs"])
        self._paces = {shape: statistics.median(values) for shape, values in paces.items()}
        self._shares = {key: statistics.median(values) for key, values in shares.items()}
        # Shapes count once here, however often each ran.
        rough = defaultdict(list)
        for (dataset, model, hidden, heads), pace in self._paces.items():
            if edges := edges_of(dataset):
                for key in (model, None):
                    rough[key].append(pace / (edges * hidden * heads))
        self._rough = {model: statistics.median(values) for model, values in rough.items()}

    def estimate(self, spec: RunSpec) -> tuple[float | None, bool]:
        """Seconds a run may take, None where nothing is known, and whether that is a rough guess."""
        run = spec.to_dict()
        shape, steps = _shape(run), max(1, spec.layers) * spec.epochs * self._share(run)
        if shape in self._paces:
            return self._paces[shape] * steps, False
        edges = edges_of(spec.dataset) if self._rough else None
        if edges is None:
            return None, False
        pace = self._rough.get(spec.model, self._rough[None])
        return pace * edges * spec.hidden * spec.heads * steps, True

    def _share(self, run: Mapping[str, Any]) -> float:
        """How much of its epochs a run may use: all of them where nothing ends it early, whatever became of others."""
        early = _ends_early(run)
        known = (self._shares[key] for key in ((_shape(run), early), (None, early)) if key in self._shares)
        return next(known, 1.0) if any(early) else 1.0


def _shape(run: Mapping[str, Any]) -> tuple[str, str, int, int]:
    return run["dataset"], run["model"], run["hidden"], run["heads"]


def _ends_early(run: Mapping[str, Any]) -> tuple[bool, bool]:
    """Whether a run ends when it has not become better for a while, and when its learning rate is small."""
    return bool(run["patience"]), bool(run["stop_lr"])


@functools.lru_cache(maxsize=64)
def edges_of(dataset: str) -> int | None:
    """The number of edges a layer goes over in an epoch; None where the data cannot be read."""
    return task_of(dataset).edges(dataset)
