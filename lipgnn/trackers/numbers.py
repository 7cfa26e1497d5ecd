"""The numbers that trackers are given, by name; those that are not finite are left out. No torch here."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from lipgnn.results.recordings import ARCHIVED, BY_LAYER, read_recording
from lipgnn.results.run import Run

Numbers = dict[str, float]
# What of a result is final numbers, beside all scores and losses.
_FINAL = ("best_epoch", "epochs_run", "max_grad_norm", "parameters", "seconds", "peak_memory_mb", "objective")


def of_epoch(line: Mapping[str, Any]) -> Numbers:
    """Those of a line of the log, by the same names."""
    return _finite({name: value for name, value in line.items() if name != "epoch"})


def of_layers(record: str, arrays: Mapping[str, Sequence[float]]) -> Numbers:
    """Those that were recorded in one epoch, as `RECORD/NAME/layer_001`; none of what is not recorded by layer.

    Layers count from 1, and similarity begins at the output of the encoder, 0.
    """
    if record not in BY_LAYER:
        return {}
    first = 0 if record == "similarity" else 1
    return _finite(
        {
            f"{record}/{name}/layer_{layer:03d}": value
            for name in ARCHIVED[record]
            for layer, value in enumerate(arrays[name], first)
        }
    )


def of_result(result: Mapping[str, Any]) -> Numbers:
    """Final numbers, as `final/NAME`."""
    chosen = {name: value for name, value in result.items() if name in _FINAL or name.endswith(("_score", "_loss"))}
    return _finite({f"final/{name}": value for name, value in chosen.items()})


def of_earlier_epochs(run: Run, last: int) -> dict[int, Numbers]:
    """Those of all epochs up to `last`, from the files of a run that goes on."""
    found = {line["epoch"]: of_epoch(line) for line in run.read_log() if line["epoch"] <= last}
    for record in BY_LAYER:
        path = run.recording_path(record)
        arrays = read_recording(path) if path.exists() else {"epochs": []}
        for row, epoch in enumerate(map(int, arrays["epochs"])):
            if epoch <= last:
                found.setdefault(epoch, {}).update(of_layers(record, {name: arrays[name][row] for name in arrays}))
    return dict(sorted(found.items()))


def _finite(numbers: Mapping[str, Any]) -> Numbers:
    return {name: float(value) for name, value in numbers.items() if value is not None and math.isfinite(value)}
