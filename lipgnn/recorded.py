"""The files of what was recorded during a run, by epoch and layer. No torch here.

runs/<id>/gradients.safetensors  the arrays of GRADIENTS, (E, L) each in float32, and `epochs`, (E,)
<folder>/<id>.safetensors        their published form, small enough to be kept beside a table: of PUBLISHED alone, the
                                 decimal logarithm in float16, which is good to one percent of the number; of a run
                                 that is long or deep every k-th epoch, so that no file is larger than 30 KB
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from lipgnn.errors import DataError
from lipgnn.files import ensure_writable, write_atomic
from lipgnn.store import Store

if TYPE_CHECKING:
    import numpy as np

SCHEMA = "1"
# What a run can be asked to record.
RECORDS = ("gradients",)
# Frobenius norm, mean and largest absolute value of the gradients of a layer's weights and of its input.
GRADIENTS = ("weight_norm", "weight_mean", "weight_max", "input_norm", "input_mean", "input_max")
PUBLISHED = ("weight_norm", "input_norm")
_LOGARITHM = "log10_"
# Of the numbers in a published file; what they are called takes some hundred bytes more.
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
        name.removeprefix(_LOGARITHM): np.float32(10) ** array.astype(np.float32)
        if name.startswith(_LOGARITHM)
        else array
        for name, array in stored.items()
    }
    epochs = len(arrays.get("epochs", ()))
    if not epochs or any(len(array) != epochs for array in arrays.values()) or not arrays.keys() & {*GRADIENTS}:
        raise _unusable(path, "it has no arrays of the same number of epochs")
    return arrays


def publish_recordings(store: Store, run_ids: Iterable[str], folder: Path) -> list[str]:
    """Copy what runs of a store have recorded to `folder`, in the published form.

    Returns
    -------
    the ids of the runs that had something.
    """
    import numpy as np

    found = [run_id for run_id in run_ids if store.run(run_id).gradients_path.exists()]
    if found:
        ensure_writable(folder, "Choose another folder.")
    for run_id in found:
        arrays = read_recording(store.run(run_id).gradients_path)
        published = {"epochs": arrays["epochs"].astype(np.int32)}
        with np.errstate(divide="ignore"):
            for name in PUBLISHED:
                published[_LOGARITHM + name] = np.log10(arrays[name]).astype(np.float16)
        every = math.ceil(sum(array.nbytes for array in published.values()) / _MOST_BYTES)
        published = {name: np.ascontiguousarray(array[::every]) for name, array in published.items()}
        write_recording(folder / f"{run_id}.safetensors", published)
    return found


def _unusable(path: Path, reason: str) -> DataError:
    return DataError(
        f"Cannot use the recorded arrays in {str(path)!r}: {reason}.",
        "Record them anew with --record gradients --force.",
    )
