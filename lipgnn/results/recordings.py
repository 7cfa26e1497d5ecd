"""The files of what was recorded during a run, by epoch and layer, distance or horizon. No torch here.

runs/<id>/gradients.safetensors   the arrays of GRADIENTS, (E, L) each in the type of the run, and `epochs`, (E,)
runs/<id>/similarity.safetensors  those of SIMILARITY, (E, L + 1) each, likewise; epoch 0 is before the first step
runs/<id>/reach.safetensors       that of REACH, (2, L + 2), before the first step and at the epoch selected
runs/<id>/horizons.safetensors    those of HORIZONS, (1, walks, longest horizon + 1) each, at the epoch selected
runs/<id>/traffic.safetensors     those of TRAFFIC, (E, 1) each
<folder>/<id>.safetensors         archived gradients, small enough to be stored beside a table: of ARCHIVED alone, the
                                  decimal logarithm in float16, which is good to one percent of numbers that are not
                                  extreme; of a run that is long or deep every k-th epoch, so that no file is larger
                                  than 30 KB
<folder>/<id>.similarity.safetensors  archived similarity, in the same form, and <id>.reach.safetensors
                                  and <id>.horizons.safetensors and <id>.traffic.safetensors

What was not finite is recorded as such.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from lipgnn.catalog import PATH_MEASURES
from lipgnn.errors import DataError
from lipgnn.files import ensure_writable, write_atomic
from lipgnn.results.store import Store

if TYPE_CHECKING:
    import numpy as np

SCHEMA = "1"
# Frobenius norm, mean and largest absolute value of the gradients of a layer's weights and of its input.
GRADIENTS = ("weight_norm", "weight_mean", "weight_max", "input_norm", "input_mean", "input_max")
# μ(X) = ‖X − 1·mean‖_F and ‖X‖_F of the gradient and of the features at the input of every layer and at the output of
# the last, and what of these features is not one row a component, r = ‖res(X)‖_{1,∞} / ‖X‖_{1,∞}.
SIMILARITY = ("grad_mu", "grad_norm", "feat_mu", "feat_norm", "rank1")
# The share of each distance in a node's output: of 0, 1 … L hops, and last of all that is beyond. A reversible stack of
# L blocks looks 2 L hops far.
REACH = ("reach_share",)
# Of walks of exactly 0, 1, 2 … steps in the test part, NaN where there are none: every measure, and how many windows
# have such a walk. Rows are the walks of `lipgnn.catalog.WALKERS`.
HORIZONS = (*PATH_MEASURES, "horizon_windows")
# The training loss with the L2 penalty, and what of gradients was sent up to then, in MB.
TRAFFIC = ("objective_course", "sent_course")
# What a run can be asked to record, with the names of its arrays.
RECORDS = {
    "gradients": GRADIENTS,
    "similarity": SIMILARITY,
    "reach": REACH,
    "horizons": HORIZONS,
    "traffic": TRAFFIC,
}
# Those whose columns are layers.
BY_LAYER = ("gradients", "similarity")
ARCHIVED = {
    "gradients": ("weight_norm", "input_norm"),
    "similarity": SIMILARITY,
    "reach": REACH,
    "horizons": HORIZONS,
    "traffic": TRAFFIC,
}
_LOGARITHM = "log10_"
# Of the numbers in an archived file; what they are called takes some hundred bytes more.
_MOST_BYTES = 29_000


def write_recording(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Replace a file of arrays."""
    from safetensors.numpy import save

    write_atomic(path, save(dict(arrays), metadata={"schema": SCHEMA}))


def read_recording(path: Path) -> dict[str, np.ndarray]:
    """The arrays of a file by name, logarithms taken back.

    Raises
    ------
    DataError : the file is damaged, or not one of these.
    """
    import numpy as np
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as file:
            schema = (file.metadata() or {}).get("schema")
            stored = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
    except (OSError, SafetensorError) as error:
        raise _unusable(path, str(error)) from error
    if schema != SCHEMA:
        raise _unusable(path, f"it has schema version {schema!r}, and {SCHEMA!r} is read")
    arrays = {
        name.removeprefix(_LOGARITHM): 10 ** array.astype(np.float64) if name.startswith(_LOGARITHM) else array
        for name, array in stored.items()
    }
    epochs = len(arrays.get("epochs", ()))
    known = {name for names in RECORDS.values() for name in names}
    if not epochs or any(len(array) != epochs for array in arrays.values()) or not arrays.keys() & known:
        raise _unusable(path, "it has no arrays of the same number of epochs")
    return arrays


def record_of(value: str) -> str | None:
    """The record that an array of this name is part of; None if there is none."""
    return next((record for record, names in RECORDS.items() if value in names), None)


def archived_path(folder: Path, run_id: str, record: str) -> Path:
    """The archived form of what a run has recorded."""
    kind = "" if record == "gradients" else f".{record}"
    return folder / f"{run_id}{kind}.safetensors"


def archive_recordings(store: Store, run_ids: Iterable[str], folder: Path) -> list[str]:
    """Copy what runs of a store have recorded to `folder`, in the archived form.

    Returns
    -------
    the ids of the runs that had something.
    """
    paths = ((run_id, record, store.run(run_id).recording_path(record)) for run_id in run_ids for record in RECORDS)
    found = [entry for entry in paths if entry[2].exists()]
    if found:
        ensure_writable(folder, "Choose another folder.")
    for run_id, record, path in found:
        write_recording(archived_path(folder, run_id, record), _for_archive(read_recording(path), ARCHIVED[record]))
    return list(dict.fromkeys(run_id for run_id, _, _ in found))


def _for_archive(arrays: Mapping[str, np.ndarray], names: Iterable[str]) -> dict[str, np.ndarray]:
    import numpy as np

    archived = {"epochs": arrays["epochs"].astype(np.int32)}
    with np.errstate(divide="ignore"):
        for name in names:
            archived[_LOGARITHM + name] = np.log10(arrays[name]).astype(np.float16)
    every = math.ceil(sum(array.nbytes for array in archived.values()) / _MOST_BYTES)
    return {name: np.ascontiguousarray(array[::every]) for name, array in archived.items()}


def _unusable(path: Path, reason: str) -> DataError:
    record = next((record for record in RECORDS if record in path.name), "gradients")
    return DataError(
        f"Cannot use the recorded arrays in {str(path)!r}: {reason}.",
        f"Record them anew: give the train command of the run with --record {record} --force.",
    )
