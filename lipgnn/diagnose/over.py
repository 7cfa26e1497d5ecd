"""How the profile of a network changed while it trained, from what the run recorded. No torch here."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from lipgnn.errors import UsageError
from lipgnn.results.recordings import SIMILARITY, read_recording
from lipgnn.results.run import Run
from lipgnn.results.store import Store

if TYPE_CHECKING:
    import numpy as np

# Of one epoch: lengths of the gradient at the first layer's input and at the last one's output, the former over the
# latter; and of the output what differs between nodes, μ over length, and the residual to one row a component.
COLUMNS = ("epoch", "grad_first", "grad_last", "grad_growth", "feat_ratio", "rank1_residual")


def over_epochs(reference: str | None, store: Store) -> dict[str, Any]:
    """What a run recorded: its `run_id`, a row for each of its `epochs`, and the arrays of SIMILARITY as lists.

    Raises
    ------
    UsageError : no run is given, there is none such, or it has recorded nothing.
    DataError : the file is damaged.
    """
    if reference is None:
        raise UsageError("Only a run has epochs.", "Give its id.")
    run = store.find(reference)
    arrays = recorded_similarity(run)
    return {"run_id": run.id, "epochs": by_epoch(arrays), **by_layer(arrays)}


def recorded_similarity(run: Run) -> dict[str, np.ndarray]:
    """The arrays of SIMILARITY, (E, L + 1) each, and `epochs`, (E,).

    Raises
    ------
    UsageError : the run has not recorded them.
    DataError : the file is damaged.
    """
    path = run.recording_path("similarity")
    if not path.exists():
        raise UsageError(
            f"Run {run.id} has not recorded how similar its layers were.",
            "Give its train command again with --record similarity --force.",
        )
    return read_recording(path)


def by_epoch(arrays: Mapping[str, np.ndarray]) -> list[dict[str, Any]]:
    """A row with the keys of COLUMNS for every epoch; None where a number is not finite."""
    rows = []
    for index, epoch in enumerate(arrays["epochs"].tolist()):
        now = {name: arrays[name][index].tolist() for name in SIMILARITY}
        first, last = now["grad_norm"][0], now["grad_norm"][-1]
        numbers = (first, last, _over(first, last), _over(now["feat_mu"][-1], now["feat_norm"][-1]), now["rank1"][-1])
        rows.append(dict(zip(COLUMNS, (epoch, *map(_number, numbers)), strict=True)))
    return rows


def by_layer(arrays: Mapping[str, np.ndarray]) -> dict[str, list[list[float | None]]]:
    """The arrays themselves as lists, (E, L + 1) each; None where a number is not finite."""
    return {name: [[_number(value) for value in row] for row in arrays[name].tolist()] for name in SIMILARITY}


def _over(above: float, below: float) -> float:
    return above / below if below else math.nan


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
