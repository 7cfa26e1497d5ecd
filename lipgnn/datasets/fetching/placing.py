"""What was downloaded, unpacked or as it is, put in the place of a data set, with a receipt of what it was."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

from lipgnn.datasets.fetching.archive import unpack
from lipgnn.datasets.fetching.download import sha256_of_file
from lipgnn.datasets.formats import detect
from lipgnn.datasets.formats.ogb import EDGES_FILE
from lipgnn.datasets.source import damaged
from lipgnn.errors import DataError
from lipgnn.files import TEMPORARY_PREFIX, remove_leftovers, to_json, write_atomic

RECEIPT = "fetched.json"
"""In the folder of a data set: where it was fetched from, and the sha256 of the archive and of every file.

That of a data set in one file lies beside it and begins with its name.
"""


def is_file(place: Path) -> bool:
    """Whether a data set at this place is one file, and not a folder."""
    return place.suffix == ".npz"


def receipt_of(place: Path) -> Path:
    """Where the receipt of a data set is."""
    return place.with_name(f"{place.name}.{RECEIPT}") if is_file(place) else place / RECEIPT


def read_receipt(place: Path) -> dict[str, Any]:
    """The receipt of a data set; empty where there is none that can be used."""
    try:
        receipt = json.loads(receipt_of(place).read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return receipt if isinstance(receipt, dict) else {}


def changed_files(place: Path) -> list[str] | None:
    """Files of a fetched data set that are not what was downloaded; None where it was not fetched."""
    files = read_receipt(place).get("files")
    if not isinstance(files, dict):
        return None
    folder = place.parent if is_file(place) else place
    return [name for name, digest in files.items() if not _is(folder / name, digest)]


def put_in_place(download: Path, place: Path, *, url: str, digest: str) -> None:
    """Move a downloaded npz file, or the folder in a downloaded archive, to its place and write its receipt.

    Parameters
    ----------
    download : a file on the file system of `place`, which may be gone afterwards.
    url, digest : where it comes from and its sha256, for errors and the receipt.

    Raises
    ------
    DataError : it is no such thing; what was in place before still is.
    """
    # What was unpacked by somebody who was killed.
    remove_leftovers(download.parent)
    receipt = {"schema": 1, "url": url, "size": download.stat().st_size, "sha256": digest}
    with tempfile.TemporaryDirectory(dir=download.parent, prefix=TEMPORARY_PREFIX) as temporary:
        if is_file(place):
            whole = _checked_file(download, Path(temporary) / place.name, url)
            write_atomic(receipt_of(place), to_json(receipt | {"files": {place.name: digest}}))
            os.replace(whole, place)
            return
        unpacked, files = _unpacked(download, Path(temporary), url)
        write_atomic(unpacked / RECEIPT, to_json(receipt | {"files": files}))
        if place.exists():
            place.rename(Path(temporary) / "earlier")
        unpacked.rename(place)


def _checked_file(download: Path, whole: Path, url: str) -> Path:
    """The download under its own name, by which its format is recognized, once it could be read."""
    os.replace(download, whole)
    try:
        detect(whole).read(whole)
    except DataError as error:
        raise damaged(url, f"what came is no data set in an npz file ({error.message.rstrip('.')})") from error
    return whole


def _unpacked(archive: Path, folder: Path, url: str) -> tuple[Path, dict[str, str]]:
    """The one folder of an archive, unpacked, and the sha256 of every file in it."""
    files = unpack(archive, folder)
    tops = {name.split("/")[0] for name in files}
    (top,) = tops if len(tops) == 1 else ("",)
    if not top or not (folder / top / EDGES_FILE).is_file():
        raise damaged(url, f"it is no archive of one folder with {EDGES_FILE}")
    return folder / top, {name.removeprefix(f"{top}/"): value for name, value in files.items()}


def _is(path: Path, digest: str) -> bool:
    try:
        return sha256_of_file(path) == digest
    except (OSError, ValueError):
        return False
