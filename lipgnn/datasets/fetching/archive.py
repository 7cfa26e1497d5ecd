"""Unpacking a zip archive from a stranger: everything is looked at before anything is written."""

from __future__ import annotations

import hashlib
import stat
import zipfile
import zlib
from pathlib import Path, PurePosixPath

from lipgnn.datasets.source import damaged
from lipgnn.errors import RunFailed

# What is packed here is compressed already; an archive that grows more than this is a bomb.
MAX_GROWTH = 20
# Room for the small text files of a small archive.
_ALLOWANCE = 1 << 20

_CHUNK = 1 << 20


def unpack(archive: Path, folder: Path) -> dict[str, str]:
    """Write the files of a zip archive into `folder`, which is empty.

    Returns
    -------
    the sha256 of every file, by its name in the archive.

    Raises
    ------
    DataError : the archive is damaged, or has a member that is not a plain file below its top; nothing is written
        then. A member whose content is damaged is found while it is written.
    RunFailed : no room for it.
    """
    try:
        with zipfile.ZipFile(archive) as file:
            members = _checked(archive, file.infolist())
            return {member.filename: _write(archive, file, member, folder) for member in members}
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, UnicodeDecodeError) as error:
        raise damaged(archive, f"not a whole zip archive ({error})") from error


def _checked(archive: Path, members: list[zipfile.ZipInfo]) -> list[zipfile.ZipInfo]:
    """The members that are files, after a look at all."""
    names: set[str] = set()
    for member in members:
        if problem := _problem(member):
            raise damaged(archive, f"its member {member.filename!r} {problem}")
        if member.filename in names:
            raise damaged(archive, f"its member {member.filename!r} is there twice")
        names.add(member.filename)
    total = sum(member.file_size for member in members)
    if total > MAX_GROWTH * archive.stat().st_size + _ALLOWANCE:
        raise damaged(archive, f"{archive.stat().st_size:,} bytes would grow to {total:,}")
    files = [member for member in members if not member.is_dir()]
    # A name that is a file and a folder at once cannot be written.
    folders = {str(parent) for member in files for parent in PurePosixPath(member.filename).parents}
    if both := sorted(folders & names):
        raise damaged(archive, f"its member {both[0]!r} is a file and a folder")
    return files


def _problem(member: zipfile.ZipInfo) -> str | None:
    # `orig_filename` is the name before zipfile cuts it at a NUL.
    parts = member.orig_filename.removesuffix("/").split("/")
    if any(part in ("", ".", "..") for part in parts) or any(c in member.orig_filename for c in "\\:\0"):
        return "would lie outside of the folder"
    kind = stat.S_IFMT(member.external_attr >> 16)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        return "is no plain file"
    return "is encrypted" if member.flag_bits & 1 else None


def _write(archive: Path, file: zipfile.ZipFile, member: zipfile.ZipInfo, folder: Path) -> str:
    digest = hashlib.sha256()
    target = folder / member.filename
    with file.open(member) as content:
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            # zipfile gives no more than the size it announces, and checks the sum at the end.
            with open(target, "xb") as output:
                while chunk := content.read(_CHUNK):
                    digest.update(chunk)
                    output.write(chunk)
        except OSError as error:
            raise RunFailed(
                f"Could not unpack {str(archive)!r} to {str(target)!r}: {error.strerror or error}.",
                "Free some space or name another folder in LIPGNN_DATA, then run it again.",
            ) from error
    return digest.hexdigest()
