"""Data sets from the web into the data directory: offered, downloaded, checked, and only then put in place."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from lipgnn.catalog import DATASETS, FetchedEntry, FileEntry, OgbEntry
from lipgnn.datasets.fetching.download import Partial, Progress, download, remote_size
from lipgnn.datasets.fetching.placing import is_file, put_in_place, read_receipt, receipt_of
from lipgnn.datasets.locate import IN_DIRECTORY, data_directory, ogb_folder
from lipgnn.errors import DataError, UsageError, unknown_name
from lipgnn.files import ensure_writable

MIRROR_VARIABLE = "LIPGNN_OGB_URL"
"""Where else OGB's archives are, under the same file names."""

# A folder of the data directory with nothing but work in progress, to be deleted at any time.
_DOWNLOADS = "downloads"


@dataclass(frozen=True)
class Offer:
    """What would be downloaded.

    Attributes
    ----------
    name : of the data set.
    url : of the archive, or of the file.
    size : its bytes, None where the server does not say.
    have : bytes that are there already, of an earlier attempt.
    largest : bytes that it has at most.
    sha256 : what it must have, None if nothing is known.
    published : whether that is known of what everybody gets, and not only remembered of the first fetched here.
    place : the folder or file where the data set will be.
    """

    name: str
    url: str
    size: int | None
    have: int
    largest: int
    sha256: str | None
    published: bool
    place: Path


def place_of(name: str) -> Path:
    """Where a data set that can be fetched is, or would be.

    Raises
    ------
    UsageError : a data set that is not fetched, with where it comes from, or none at all.
    """
    if name not in DATASETS:
        raise unknown_name(
            "data set", name, [key for key, entry in DATASETS.items() if isinstance(entry, FetchedEntry)]
        )
    entry = DATASETS[name]
    if entry.origin != IN_DIRECTORY:
        raise UsageError(f"Data set {name!r} comes with lipgnn.", f"There is nothing to fetch: --dataset {name}.")
    if not isinstance(entry, FetchedEntry):
        raise UsageError(
            f"Fetching {name!r} is not offered: its authors publish it in a repository, not as an archive.",
            "Copy new_data and splits of https://github.com/graphdml-uiuc-jlu/geom-gcn "
            f"into {str(data_directory() / 'geom-gcn')!r}.",
        )
    place = Path(entry.folder) / entry.file if isinstance(entry, FileEntry) else ogb_folder(name)
    return data_directory() / place


def make_offer(name: str) -> Offer:
    """Ask the server what there is; nothing is written.

    Raises
    ------
    DataError : no network, not there, or longer than it should be; the hint says which file to put where.
    UsageError : as for `place_of`.
    """
    place, entry = place_of(name), DATASETS[name]
    mirror = os.environ.get(MIRROR_VARIABLE) if isinstance(entry, OgbEntry) else None
    url = f"{mirror.rstrip('/')}/{_file_name(name)}" if mirror else entry.url
    try:
        size = remote_size(url)
    except DataError as error:
        raise DataError(error.message, _by_hand(url, place)) from error
    if size is not None and size > entry.largest:
        raise DataError(
            f"{url!r} has {size:,} bytes, and {entry.largest:,} were expected at most.", _by_hand(url, place)
        )
    remembered = read_receipt(place).get("sha256")
    expected = entry.sha256 or (remembered if isinstance(remembered, str) else None)
    have = _partial(name).size(url)
    return Offer(name, url, size, have, entry.largest, expected, entry.sha256 is not None, place)


def fetch(offer: Offer, progress: Progress) -> str:
    """Download what was offered and put it in place, instead of an earlier one.

    Parameters
    ----------
    progress : called with the number of bytes so far.

    Returns
    -------
    the sha256 of what was downloaded.

    Raises
    ------
    DataError : the download failed or is not what it should be; what was in place before still is.
    UsageError : the data directory cannot be written to.
    """
    partial = _partial(offer.name)
    for folder in (partial.path.parent, offer.place.parent):
        ensure_writable(folder, remedy="Choose another folder with LIPGNN_DATA.")
    try:
        digest = download(offer.url, partial, progress, offer.largest)
    except DataError as error:
        by_hand = _by_hand(offer.url, offer.place)
        raise DataError(error.message, f"The same command goes on where it stopped. {by_hand}") from error
    try:
        if offer.sha256 and digest != offer.sha256:
            accept = f", or delete {str(receipt_of(offer.place))!r} to accept a new version"
            raise DataError(
                f"{offer.url!r} for {str(offer.place)!r} has sha256 {digest}, not {offer.sha256}.",
                f"It was thrown away. Try again{'' if offer.published else accept}.",
            )
        put_in_place(partial.path, offer.place, url=offer.url, digest=digest)
    except DataError:
        partial.remove()
        raise
    partial.remove()
    return digest


def _file_name(name: str) -> str:
    return DATASETS[name].url.rsplit("/", 1)[-1]


def _partial(name: str) -> Partial:
    return Partial(data_directory() / _DOWNLOADS / f"{_file_name(name)}.part")


def _by_hand(url: str, place: Path) -> str:
    put = f"put it at {str(place)!r}" if is_file(place) else f"unpack it, and put its folder at {str(place)!r}"
    return f"By hand: download {url} where there is a network, {'and ' if is_file(place) else ''}{put}."
