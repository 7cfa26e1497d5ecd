"""Plain arrays in npz files, without pickles: every header is looked at before an array is made."""

from __future__ import annotations

import io
import math
import zipfile
import zlib
from collections.abc import Collection
from pathlib import Path
from typing import BinaryIO

import numpy as np

from lipgnn.datasets.limits import check_memory
from lipgnn.datasets.source import damaged
from lipgnn.files import write_atomic

Arrays = dict[str, np.ndarray]

# What numpy writes. Others are refused: the header of LZMA, for one, says how much memory unpacking it takes.
_PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
# Bytes that a text takes beside its letters.
_TEXT = 64


def load_arrays(path: Path, *, skip: Collection[str] = ()) -> Arrays:
    """Every array of an npz file.

    Parameters
    ----------
    skip : names of members that are not looked into, whatever they hold.

    Raises
    ------
    DataError : the file is missing, damaged, holds something other than plain arrays, or would take too much memory.
    """
    try:
        size = path.stat().st_size
        with zipfile.ZipFile(path) as archive:
            members = [member for member in archive.infolist() if _name(member) not in skip]
            check_memory(path, sum(_memory(archive, member) for member in members), size)
            return {_name(member): _array(archive, member) for member in members}
    except (zipfile.BadZipFile, NotImplementedError) as error:
        raise damaged(path, f"not a whole npz file ({error})") from error
    except OSError as error:
        raise damaged(path, error.strerror or str(error)) from error
    except (ValueError, EOFError, RuntimeError, MemoryError, zlib.error) as error:
        raise damaged(path, str(error) or type(error).__name__) from error


def member_names(path: Path) -> frozenset[str]:
    """What the arrays of an npz file are called; nothing where it is none, or cannot be looked into."""
    if path.suffix != ".npz" or not path.is_file():
        return frozenset()
    try:
        with zipfile.ZipFile(path) as archive:
            return frozenset(name.removesuffix(".npy") for name in archive.namelist())
    except (OSError, ValueError, RuntimeError, EOFError, zipfile.BadZipFile, NotImplementedError):
        return frozenset()


def required(arrays: Arrays, name: str) -> np.ndarray:
    """A member that has to be there; here and below, a ValueError says what is wrong with it."""
    if name not in arrays:
        raise ValueError(f"member {name!r} is missing")
    return arrays[name]


def integers(arrays: Arrays, name: str) -> np.ndarray:
    """A member of whole numbers, as int64."""
    array = required(arrays, name)
    if array.dtype.kind not in "iu":
        raise ValueError(f"member {name!r} holds {array.dtype}, not integers")
    return array.astype(np.int64, copy=False)


def numbers(arrays: Arrays, name: str) -> np.ndarray:
    """A member of numbers, as float32."""
    array = required(arrays, name)
    if array.dtype.kind not in "iufb":
        raise ValueError(f"member {name!r} holds {array.dtype}, not numbers")
    with np.errstate(over="ignore"):  # an infinity is reported by Source
        return array.astype(np.float32, copy=False)


def masks_of(arrays: Arrays, name: str) -> np.ndarray:
    """A mask, or several, as booleans of shape (K, N); older files hold zeros and ones."""
    mask = np.atleast_2d(required(arrays, name))
    if mask.dtype.kind not in "biu" or mask.ndim != 2 or not np.isin(mask, (0, 1)).all():
        raise ValueError(f"member {name!r} is not a mask of booleans")
    return mask.astype(bool)


def write_arrays(arrays: Arrays, path: Path, *, compress: bool = True) -> None:
    """Write an npz file whose bytes depend on nothing but the arrays: fixed times, fixed order."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, array in arrays.items():
            info = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
            info.create_system = 3
            info.compress_type = zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED
            content = io.BytesIO()
            np.lib.format.write_array(content, np.asarray(array, order="C"), allow_pickle=False)
            # Views, not copies: the features of a large graph are gigabytes.
            archive.writestr(info, content.getbuffer(), compresslevel=9)
    write_atomic(path, buffer.getbuffer())


def _name(member: zipfile.ZipInfo) -> str:
    if not member.filename.endswith(".npy"):
        raise ValueError(f"member {member.filename!r} is not an array")
    return member.filename.removesuffix(".npy")


def _memory(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> int:
    """Bytes of the array of a member and of what becomes of it: whole numbers of eight bytes, floats of four.

    Raises
    ------
    ValueError : it is no plain array, or its header announces another size than the archive.
    """
    name = _name(member)
    if member.compress_type not in _PACKINGS:
        raise ValueError(f"member {name!r} is packed in a way that numpy does not write")
    with archive.open(member) as file:
        shape, dtype = _header(file, name)
        content = member.file_size - file.tell()
    count = math.prod(shape)
    if dtype.hasobject:
        raise ValueError(f"member {name!r}: holds Python objects, which are never loaded")
    if dtype.itemsize == 0 or dtype.shape or min(shape, default=0) < 0 or count * dtype.itemsize != content:
        raise ValueError(f"member {name!r}: {content:,} bytes are no array of {dtype} and shape {shape}")
    if dtype.kind == "U":
        return 2 * content + _TEXT * count
    wanted = 4 if dtype.kind == "f" else 8
    return content + (wanted * count if dtype.itemsize != wanted else 0)


def _header(file: BinaryIO, name: str) -> tuple[tuple[int, ...], np.dtype]:
    try:
        version = np.lib.format.read_magic(file)
        readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
        shape, _, dtype = readers[version](file)
    except (EOFError, RuntimeError, OSError, zipfile.BadZipFile, zlib.error):
        raise
    except Exception as error:
        # It is written in Python's own syntax, and fails in as many ways.
        raise ValueError(f"member {name!r}: its header is damaged ({type(error).__name__}: {error})") from error
    return shape, dtype


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> np.ndarray:
    with archive.open(member) as file:
        return np.lib.format.read_array(file, allow_pickle=False)
