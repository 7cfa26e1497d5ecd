"""A file from the web, resumed where an earlier attempt stopped, by the standard library alone."""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import lipgnn
from lipgnn.errors import DataError, RunFailed
from lipgnn.files import to_json, write_atomic

# Of silence, not of the whole download.
TIMEOUT_SECONDS = 30
ATTEMPTS = 3

_CHUNK = 1 << 20

Progress = Callable[[int], None]


@dataclass(frozen=True)
class Partial:
    """A file that is being downloaded, and a note beside it of what it is a part of.

    Attributes
    ----------
    path : what has arrived so far.
    """

    path: Path

    @property
    def note_path(self) -> Path:
        return self.path.with_name(f"{self.path.name}.json")

    def size(self, url: str) -> int:
        """Bytes there that can be gone on with, 0 if they are of another address or of a file without a version."""
        return self.path.stat().st_size if self.path.is_file() and self.version(url) else 0

    def version(self, url: str) -> str | None:
        """The server's name for the version of the file that these bytes are of."""
        try:
            note = json.loads(self.note_path.read_bytes())
            return note["version"] if note["url"] == url and isinstance(note["version"], str) else None
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            return None

    def write_note(self, url: str, version: str | None) -> None:
        write_atomic(self.note_path, to_json({"url": url, "version": version}))

    def remove(self) -> None:
        for path in (self.path, self.note_path):
            path.unlink(missing_ok=True)


def remote_size(url: str) -> int | None:
    """Bytes of the file at `url`, None where the server does not say.

    Raises
    ------
    DataError : the server cannot be reached or does not have it.
    """
    with _readable(url), _open(urllib.request.Request(url, method="HEAD")) as response:
        return _length(response)


def download(url: str, partial: Partial, progress: Progress, largest: int) -> str:
    """Download the file at `url`, or what is missing of it; a broken connection is taken up again, twice.

    Parameters
    ----------
    partial : where it goes; after an error it holds what arrived, for the next call.
    progress : called with the number of bytes so far.
    largest : bytes it has at most; whatever the server says, no more are taken.

    Returns
    -------
    the sha256 of the whole file.

    Raises
    ------
    DataError : the server cannot be reached, does not have it, stopped early, or has something longer.
    RunFailed : it cannot be written, for lack of space for instance.
    """
    for attempt in range(1, ATTEMPTS + 1):
        try:
            with _readable(url):
                _go_on(url, partial, progress, largest)
            return sha256_of_file(partial.path)
        except DataError as error:
            # What the server has refused it will refuse again, and what is too long stays so.
            if attempt == ATTEMPTS or isinstance(error.__cause__, urllib.error.HTTPError | TooLong):
                raise
    raise AssertionError("unreachable")


def _go_on(url: str, partial: Partial, progress: Progress, largest: int) -> None:
    """One request for what is missing, written behind what is there."""
    have, version = partial.size(url), partial.version(url)
    headers = {"Range": f"bytes={have}-", "If-Range": version} if have else {}
    try:
        response = _open(urllib.request.Request(url, headers=headers))
    except urllib.error.HTTPError as error:
        if error.code != http.client.REQUESTED_RANGE_NOT_SATISFIABLE:
            raise
        error.close()
        # There is nothing behind what we have: it is all of it, or of no use.
        if error.headers.get("Content-Range") == f"bytes */{have}":
            return
        have = 0
        response = _open(urllib.request.Request(url))
    with response:
        if response.status != http.client.PARTIAL_CONTENT:
            have = 0  # the file has changed, or this server always begins at the beginning
        elif not _begins_at(response, have):
            partial.remove()
            raise http.client.HTTPException("the server sent another part of the file than was asked for")
        length = _length(response)
        if have + (length or 0) > largest:
            partial.remove()
            raise TooLong(f"it has {have + (length or 0):,} bytes, and {largest:,} were expected at most")
        partial.write_note(url, response.headers.get("ETag") or response.headers.get("Last-Modified"))
        try:
            _copy(response, partial.path, have, progress, largest)
        except TooLong:
            partial.remove()
            raise
    arrived = partial.path.stat().st_size - have
    if length is not None and arrived != length:
        raise http.client.HTTPException(f"the connection ended after {arrived:,} of {length:,} bytes")


def _copy(response: http.client.HTTPResponse, path: Path, have: int, progress: Progress, largest: int) -> None:
    with open(path, "ab" if have else "wb") as file:
        progress(have)
        while chunk := response.read(_CHUNK):
            if have + len(chunk) > largest:
                raise TooLong(f"it goes on after the {largest:,} bytes that were expected at most")
            with _writable(path):
                file.write(chunk)
                file.flush()
            have += len(chunk)
            progress(have)


class TooLong(http.client.HTTPException):
    """The server has more than was expected."""


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects, but not from an encrypted connection to one that is not."""

    def redirect_request(self, request, answer, code, message, headers, url):
        if request.full_url.startswith("https:") and not url.startswith("https:"):
            raise http.client.HTTPException(f"the server sends us on to {url!r}, which is not encrypted")
        return super().redirect_request(request, answer, code, message, headers, url)


def _open(request: urllib.request.Request) -> http.client.HTTPResponse:
    """Over HTTP alone: urllib's own opener would also follow to files and FTP."""
    request.add_header("User-Agent", f"lipgnn/{lipgnn.__version__}")
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler,
        urllib.request.HTTPHandler,
        urllib.request.HTTPSHandler,
        _Redirects,
        urllib.request.HTTPDefaultErrorHandler,
        urllib.request.HTTPErrorProcessor,
        urllib.request.UnknownHandler,
    ):
        opener.add_handler(handler())
    return opener.open(request, timeout=TIMEOUT_SECONDS)


def _length(response: http.client.HTTPResponse) -> int | None:
    text = response.headers.get("Content-Length", "")
    return int(text) if text.isascii() and text.isdigit() else None


def _begins_at(response: http.client.HTTPResponse, position: int) -> bool:
    return response.headers.get("Content-Range", "").startswith(f"bytes {position}-")


def sha256_of_file(path: Path) -> str:
    """Hex digest of a file, however large."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


@contextlib.contextmanager
def _readable(url: str) -> Iterator[None]:
    """Turn what can go wrong between here and the server into one sentence."""
    try:
        yield
    except urllib.error.HTTPError as error:
        error.close()
        raise DataError(f"Could not download {url!r}: {error.code} {error.reason}.") from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        # urllib wraps what the system says.
        cause = getattr(error, "reason", error)
        reason = getattr(cause, "strerror", None) or str(cause) or type(cause).__name__
        raise DataError(f"Could not download {url!r}: {reason}.") from error


@contextlib.contextmanager
def _writable(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise RunFailed(
            f"Could not write {str(path)!r}: {error.strerror or error}.",
            "What has arrived is kept. Free some space or name another folder in LIPGNN_DATA, then run it again.",
        ) from error
