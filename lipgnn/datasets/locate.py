"""Where data sets are: shipped with the package, in the data directory, or at a path."""

from __future__ import annotations

import os
import re
from pathlib import Path

import platformdirs

import lipgnn
from lipgnn.catalog import DATASETS, DIRECTIONS, FileEntry, ImagesEntry, OgbEntry, PathsEntry, split_direction
from lipgnn.datasets.formats import readable, recognize
from lipgnn.errors import DataError, UsageError, unknown_name

VARIABLE = "LIPGNN_DATA"
# What else is in the user's cache directory (see `lipgnn.datasets.cache`).
CACHE = "cache"
SHIPS, IN_DIRECTORY, MANY_GRAPHS = "ships", "data directory", "many graphs"

# Folders of the data directory that hold several data sets and are none themselves.
_FILES = ("heterophilous", "gnn-benchmark")
_LAYOUTS = ("geom-gcn", "planetoid", "splits", *_FILES)

# Names become file names, so nothing but plain words: no separator, no dot, nothing to climb out with.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", re.ASCII)


def is_name(text: str) -> bool:
    """Whether `text` can be the name of a data set, and so of a file."""
    return _NAME.fullmatch(text) is not None


def data_directory() -> Path:
    """The folder for data sets the user brings: LIPGNN_DATA, or the user's folder for data.

    It is the user's cache directory where an earlier version put data there.
    """
    if given := os.environ.get(VARIABLE):
        return Path(given)
    usual, earlier = (Path(of("lipgnn")) for of in (platformdirs.user_data_dir, platformdirs.user_cache_dir))
    moved = usual.is_dir() or not earlier.is_dir() or all(entry.name == CACHE for entry in earlier.iterdir())
    return usual if moved else earlier


def shipped_directory() -> Path:
    """The folder of the data sets that ship: inside an installed package, or beside it in a checkout."""
    package = Path(lipgnn.__file__).parent
    installed = package / "data"
    return installed if installed.is_dir() else package.parent / "data"


def locate(name_or_path: str | os.PathLike[str], *, data_dir: Path | None = None) -> Path:
    """The file or folder a data set is read from; text is a name first, then a path, either with a suffix or not.

    Raises
    ------
    DataError : a known data set that is not where it should be, or a path that leads nowhere.
    UsageError : a word that is no known data set, or a suffix that is none.
    """
    text, _ = split_direction(os.fspath(name_or_path))
    directory = Path(data_dir) if data_dir is not None else data_directory()
    named = isinstance(name_or_path, str) and is_name(text)
    if named and text in DATASETS and DATASETS[text].origin == SHIPS:
        return shipped_directory() / f"{text}.npz"
    if named and text in DATASETS and DATASETS[text].origin != IN_DIRECTORY:
        raise DataError(f"Data set {text!r} is made when it is loaded and has no file.")
    if named and (found := _in_directory(text, directory)):
        return found
    if named and text in DATASETS:
        raise DataError(f"Data set {text!r} is not in the data directory {str(directory)!r}.", _remedy(text, directory))
    # The path of a Planetoid set, folder/ind.NAME, is no file itself but the beginning of eight.
    if os.path.exists(text) or os.path.exists(f"{text}.graph"):
        return Path(text)
    base, colon, suffix = text.partition(":")
    if colon and base in DATASETS and DATASETS[base].parameters:
        raise DataError(f"Data set {text!r} is made when it is loaded and has no file.")
    if colon and is_name(base) and (base in DATASETS or _in_directory(base, directory)):
        forms = ", ".join(repr(base + form) for form in DIRECTIONS)
        raise UsageError(f"Data set {base!r} has no form {suffix!r}.", f"Use {forms} or the name alone.")
    if named:
        # Of the names in the data directory some are in the catalog.
        raise unknown_name("data set", text, dict.fromkeys([*DATASETS, *(name for name, _ in cached(directory))]))
    raise DataError(f"No such file or folder: {text!r}.", f"Give the name of a data set, or the path of {readable()}.")


def settled(name_or_path: str) -> str:
    """A data set as it is written down: names as they are, paths so that they lead there from any folder.

    `x`, `./x` and `../here/x` are one data set.
    """
    text, _ = split_direction(name_or_path)
    family = text.partition(":")[0]
    named = family in DATASETS or (is_name(text) and _in_directory(text, data_directory()))
    if named or not (os.path.exists(text) or os.path.exists(f"{text}.graph")):
        return name_or_path
    return os.path.abspath(text) + name_or_path.removeprefix(text)


def cached(data_dir: Path | None = None) -> list[tuple[str, Path]]:
    """Name and path of every data set in the data directory that can be given by name, in order of name."""
    directory = Path(data_dir) if data_dir is not None else data_directory()
    found = {name: _in_directory(name, directory) for name in DATASETS if DATASETS[name].origin == IN_DIRECTORY}
    taken = {path for path in found.values() if path}
    for entry in directory.iterdir() if directory.is_dir() else ():
        name = entry.name.removesuffix(".npz")
        if name not in {*DATASETS, *_LAYOUTS} and is_name(name):
            path = _in_directory(name, directory)
            found[name] = path if path not in taken else None
    return [(name, path) for name, path in sorted(found.items()) if path]


def _in_directory(name: str, directory: Path) -> Path | None:
    """The first readable of the places a data set may have in the data directory."""
    candidates = [
        directory / f"{name}.npz",
        directory / name,
        directory / "geom-gcn" / "new_data" / name,
        directory / "planetoid" / f"ind.{name}",
        directory / ogb_folder(name),
    ]
    entry = DATASETS.get(name)
    file = entry.file if isinstance(entry, FileEntry) else f"{ogb_folder(name)}.npz"
    candidates += [directory / folder / file for folder in ("", *_FILES)]
    if isinstance(entry, PathsEntry) and entry.folder:
        candidates.append(directory / entry.folder)
    return next((path for path in candidates if recognize(path)), None)


def ogb_folder(name: str) -> str:
    """What OGB's own loader calls the folder of a data set: ogbn-arxiv is unpacked to ogbn_arxiv."""
    return name.replace("-", "_")


def _remedy(name: str, directory: Path) -> str:
    entry = DATASETS[name]
    if isinstance(entry, PathsEntry):
        return f"Put its five files into {str(directory / entry.folder)!r}; {VARIABLE} names another directory."
    if isinstance(entry, ImagesEntry):
        return f"Put its four idx files into {str(directory / name)!r}; {VARIABLE} names another directory."
    if isinstance(entry, FileEntry):
        layout = f"Run `lipgnn datasets fetch {name}`, or put {entry.url} into {str(directory / entry.folder)!r}"
    elif isinstance(entry, OgbEntry):
        unpacked = f"the folder in {entry.url} at {str(directory / ogb_folder(name))!r}"
        layout = f"Run `lipgnn datasets fetch {name}`, or put {unpacked}"
    else:
        layout = f"Put Geom-GCN's folders new_data and splits into {str(directory / 'geom-gcn')!r}"
    return f"{layout}, or an npz file at {str(directory / f'{name}.npz')!r}; {VARIABLE} names another directory."
