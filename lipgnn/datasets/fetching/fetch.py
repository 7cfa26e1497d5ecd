"""OGB's archives into the data directory: offered, downloaded, checked, unpacked, and only then put in place."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lipgnn.catalog import DATASETS, OgbEntry
from lipgnn.datasets.fetching.archive import unpack
from lipgnn.datasets.fetching.download import Partial, Progress, download, remote_size, sha256_of_file
from lipgnn.datasets.formats.ogb import EDGES_FILE
from lipgnn.datasets.locate import IN_DIRECTORY, data_directory, ogb_folder
from lipgnn.datasets.source import damaged
from lipgnn.errors import DataError, UsageError, unknown_name
from lipgnn.files import TEMPORARY_PREFIX, ensure_writable, remove_leftovers, to_json, write_atomic

MIRROR_VARIABLE = "LIPGNN_OGB_URL"
"""Where else the archives are, under the same file names."""

RECEIPT = "fetched.json"
"""In the folder of a data set: where it was fetched from, and the sha256 of the archive and of every file."""

# A folder of the data directory with nothing but work in progress, to be deleted at any time.
_DOWNLOADS = "downloads"


@dataclass(frozen=True)
class Offer:
    """What would be downloaded.

    Attributes
    ----------
    name : of the data set.
    url : of the archive.
    size : its bytes, None where the server does not say.
    have : bytes that are there already, of an earlier attempt.
    largest : bytes that it has at most.
    sha256 : what the archive must have, None if nothing is known.
    published : whether that is known of everybody's archive, and not only remembered of the first one fetched here.
    folder : where the data set will be.
    """

    name: str
    url: str
    size: int | None
    have: int
    largest: int
    sha256: str | None
    published: bool
    folder: Path


def folder_of(name: str) -> Path:
    """Where a data set that can be fetched is, or would be.

    Raises
    ------
    UsageError : a data set that is not fetched, with where it comes from, or none at all.
    """
    if name not in DATASETS:
        raise unknown_name("data set", name, [key for key, entry in DATASETS.items() if isinstance(entry, OgbEntry)])
    entry = DATASETS[name]
    if entry.origin != IN_DIRECTORY:
        raise UsageError(f"Data set {name!r} comes with lipgnn.", f"There is nothing to fetch: --dataset {name}.")
    if not isinstance(entry, OgbEntry):
        raise UsageError(
            f"Fetching {name!r} is not offered: its authors publish it in a repository, not as an archive.",
            "Copy new_data and splits of https://github.com/graphdml-uiuc-jlu/geom-gcn "
            f"into {str(data_directory() / 'geom-gcn')!r}.",
        )
    return data_directory() / ogb_folder(name)


def make_offer(name: str) -> Offer:
    """Ask the server what there is; nothing is written.

    Raises
    ------
    DataError : no network, not there, or longer than it should be; the hint says which file to put where.
    UsageError : as for `folder_of`.
    """
    folder, entry = folder_of(name), DATASETS[name]
    mirror = os.environ.get(MIRROR_VARIABLE)
    url = f"{mirror.rstrip('/')}/{_file_name(name)}" if mirror else entry.url
    try:
        size = remote_size(url)
    except DataError as error:
        raise DataError(error.message, _by_hand(url, folder)) from error
    if size is not None and size > entry.largest:
        raise DataError(
            f"{url!r} has {size:,} bytes, and {entry.largest:,} were expected at most.", _by_hand(url, folder)
        )
    remembered = _receipt(folder).get("sha256")
    expected = entry.sha256 or (remembered if isinstance(remembered, str) else None)
    have = _partial(name).size(url)
    return Offer(name, url, size, have, entry.largest, expected, entry.sha256 is not None, folder)


def fetch(offer: Offer, progress: Progress) -> str:
    """Download what was offered and put its folder in place, instead of an earlier one.

    Parameters
    ----------
    progress : called with the number of bytes so far.

    Returns
    -------
    the sha256 of the archive.

    Raises
    ------
    DataError : the download failed or is not what it should be; what was in place before still is.
    UsageError : the data directory cannot be written to.
    """
    partial = _partial(offer.name)
    ensure_writable(partial.path.parent, remedy="Choose another folder with LIPGNN_DATA.")
    try:
        digest = download(offer.url, partial, progress, offer.largest)
    except DataError as error:
        by_hand = _by_hand(offer.url, offer.folder)
        raise DataError(error.message, f"The same command goes on where it stopped. {by_hand}") from error
    try:
        if offer.sha256 and digest != offer.sha256:
            raise DataError(
                f"{offer.url!r} for {str(offer.folder)!r} has sha256 {digest}, not {offer.sha256}.",
                f"It was thrown away. Try again, or delete {str(offer.folder / RECEIPT)!r} to accept a new version.",
            )
        _put_in_place(offer, partial.path, digest)
    except DataError:
        partial.remove()
        raise
    partial.remove()
    return digest


def changed_files(folder: Path) -> list[str] | None:
    """Files of a fetched folder that are not what was unpacked; None where the folder was not fetched."""
    files = _receipt(folder).get("files")
    if not isinstance(files, dict):
        return None
    return [name for name, digest in files.items() if not _is(folder / name, digest)]


def _put_in_place(offer: Offer, archive: Path, digest: str) -> None:
    # What was unpacked by somebody who was killed.
    remove_leftovers(archive.parent)
    with tempfile.TemporaryDirectory(dir=archive.parent, prefix=TEMPORARY_PREFIX) as temporary:
        files = unpack(archive, Path(temporary))
        tops = {name.split("/")[0] for name in files}
        (top,) = tops if len(tops) == 1 else ("",)
        unpacked = Path(temporary) / top
        if not top or not (unpacked / EDGES_FILE).is_file():
            raise damaged(offer.url, f"it is no archive of one folder with {EDGES_FILE}")
        receipt = {
            "schema": 1,
            "url": offer.url,
            "size": archive.stat().st_size,
            "sha256": digest,
            "files": {name.removeprefix(f"{top}/"): value for name, value in files.items()},
        }
        write_atomic(unpacked / RECEIPT, to_json(receipt))
        if offer.folder.exists():
            offer.folder.rename(Path(temporary) / "earlier")
        unpacked.rename(offer.folder)


def _receipt(folder: Path) -> dict[str, Any]:
    try:
        receipt = json.loads((folder / RECEIPT).read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return receipt if isinstance(receipt, dict) else {}


def _is(path: Path, digest: str) -> bool:
    try:
        return sha256_of_file(path) == digest
    except (OSError, ValueError):
        return False


def _file_name(name: str) -> str:
    return DATASETS[name].url.rsplit("/", 1)[-1]


def _partial(name: str) -> Partial:
    return Partial(data_directory() / _DOWNLOADS / f"{_file_name(name)}.part")


def _by_hand(url: str, folder: Path) -> str:
    return f"By hand: download {url} where there is a network, unpack it, and put its folder at {str(folder)!r}."
