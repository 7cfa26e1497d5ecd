"""Predictions as a file: a table for people (CSV) and for data frames (Parquet), or arrays (npz). No torch here.

Ids and names of classes are written as they are, also where a spreadsheet would take one for a formula: they are there
to be found again. Numbers are written with as many digits as it takes to read the same number back.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from lipgnn.errors import EnvironmentBroken, UsageError
from lipgnn.files import write_atomic

if TYPE_CHECKING:
    from lipgnn.predict.prediction import Prediction


def to_csv(prediction: Prediction) -> str:
    """A header and a line for every item, with the columns of `Prediction.columns`."""
    columns = prediction.columns()
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    # The text of a number of numpy is the shortest that no other number of its type has.
    writer.writerows(zip(*(column.astype(str).tolist() for column in columns.values()), strict=True))
    return text.getvalue()


def _csv(prediction: Prediction) -> bytes:
    return to_csv(prediction).encode()


def _parquet(prediction: Prediction) -> bytes:
    pyarrow, parquet = _pyarrow()
    columns = {
        name: pyarrow.array(column.tolist() if column.dtype.kind == "U" else column)
        for name, column in prediction.columns().items()
    }
    content = io.BytesIO()
    parquet.write_table(pyarrow.table(columns), content)
    return content.getvalue()


def _npz(prediction: Prediction) -> bytes:
    arrays: Mapping[str, np.ndarray | None] = {
        "ids": prediction.ids,
        "classes": np.array(prediction.classes),
        "probabilities": prediction.probabilities,
        "chosen": prediction.chosen,
        "margin": prediction.margin,
        "radius": prediction.radius,
    }
    content = io.BytesIO()
    np.savez_compressed(content, **{name: array for name, array in arrays.items() if array is not None})
    return content.getvalue()


WRITERS: dict[str, Callable[[Prediction], bytes]] = {".csv": _csv, ".parquet": _parquet, ".npz": _npz}
"""What makes the content of a file, by its suffix."""


def check_suffix(path: Path) -> None:
    """Refuse a file that cannot be written, before anything is computed.

    Raises
    ------
    UsageError : its suffix is of no known kind.
    EnvironmentBroken : it is a Parquet file, and pyarrow is not installed.
    """
    if path.suffix.lower() not in WRITERS:
        raise UsageError(
            f"Predictions are written to {', '.join(WRITERS)}, and {path.name!r} is none of these.", "Name such a file."
        )
    if path.suffix.lower() == ".parquet":
        _pyarrow()


def write_prediction(prediction: Prediction, path: Path) -> None:
    """Write the file that `path` names, all of it or nothing; errors as above."""
    check_suffix(path)
    write_atomic(path, WRITERS[path.suffix.lower()](prediction))


def _pyarrow():
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise EnvironmentBroken(
            "A Parquet file is written by pyarrow, which is not installed.",
            "Install it with: pip install 'lipgnn[parquet]', or name a .csv or .npz file.",
        ) from error
    return pyarrow, parquet
