"""Where runs and data are: stores, named data sets, and data that is in memory alone. No torch here."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lipgnn.api.libraries import as_data
from lipgnn.catalog import MEMORY
from lipgnn.datasets import Source, prepare, write_npz
from lipgnn.datasets.locate import settled
from lipgnn.datasets.splits import choose
from lipgnn.errors import UsageError
from lipgnn.results.store import Store
from lipgnn.spec.run import RunSpec
from lipgnn.spec.sources import resolve

if TYPE_CHECKING:
    from lipgnn.tasks import TaskData
    from lipgnn.tasks.saved import SavedModel

Place = str | os.PathLike[str]


def store_at(results: Place | None) -> Store:
    """The store of a folder, by default that of the command line: LIPGNN_RESULTS, or `results` where Python works."""
    return Store(Path(results if results is not None else os.environ.get("LIPGNN_RESULTS") or "results"))


def save(data: Any, path: Place) -> Path:
    """Write a data set as an npz file, which `--dataset` and every verb here take.

    Parameters
    ----------
    data : a `Source` as `from_arrays` and its like give it, or any graph that `train` takes.
    path : the file, with the suffix `.npz`.

    Returns
    -------
    the path.

    Raises
    ------
    UsageError : another suffix, or something that is in a file already.

    Examples
    --------
    >>> import lipgnn
    >>> lipgnn.save(lipgnn.from_arrays([[0, 1], [1, 2]], [[1.0], [0.0], [1.0]], [0, 1, 0]), "three.npz").name
    'three.npz'
    """
    source, path = as_data(data), Path(path)
    if isinstance(source, str):
        raise UsageError(f"{source!r} is the name of a data set, which is in a file already.")
    if path.suffix != ".npz":
        raise UsageError(f"Data is written to an .npz file, and {path.name!r} is none.")
    write_npz(source, path)
    return path


def options_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """Options as a user of Python gives them: those of NumPy become Python's own, and None means not given."""
    return {name: plain(value) for name, value in given.items() if value is not None}


def plain(value: Any) -> Any:
    """A number of NumPy or torch as one of Python; all else as it is."""
    return value.item() if getattr(value, "ndim", None) == 0 else value


def resolved(
    data: str | Source | None,
    options: Mapping[str, Any],
    *,
    preset: str | None = None,
    config: Place | None = None,
    base: tuple[Mapping[str, Any], str] | None = None,
) -> RunSpec:
    """The run that options describe, by the same rules as on the command line; data in memory has its name in it.

    Raises
    ------
    UsageError : an unknown option, a wrong value, or two data sets.
    """
    options = options_of(options)
    if data is not None:
        if "dataset" in options:
            raise UsageError("The data set is given twice, as data and as dataset.", "Leave one of them out.")
        options["dataset"] = settled(data) if isinstance(data, str) else MEMORY + data.name
    return resolve(options, os.environ, None if config is None else Path(config), preset, base).spec


def data_of(spec: RunSpec, data: str | Source | None, split: str | None = None) -> TaskData:
    """The prepared data of a run: what is in memory where that is given, and what its name leads to where not.

    Raises
    ------
    DataError : data that is missing, damaged, or in memory and not given.
    UsageError : an unknown name or split.
    """
    from lipgnn.tasks import load

    how = {"features": spec.features, "missing": spec.missing}
    if isinstance(data, Source):
        return prepare(data, choose(data, split or spec.split), **how)
    return load(data or spec.dataset, split=split or spec.split, **how)


def data_for_model(saved: SavedModel, data: str | Source | None, split: str | None = None) -> TaskData:
    """Data to look at a model on; by default its own, which must be the very data it was trained on."""
    from lipgnn.evaluate import at_scale_of, data_for

    if isinstance(data, Source):
        return at_scale_of(saved, data_of(saved.spec, data, split))
    return data_for(saved, data, split)
