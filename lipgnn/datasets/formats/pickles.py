"""Planetoid's pickles, read without running anything they name.

A pickle is a program: it may call any function it can name. The files of Planetoid need six names. Each is
answered here by a stand-in that only notes what it is given; arrays and matrices are then built from the
notes, and checked, by our own code. Every other name is refused.
"""

from __future__ import annotations

import io
import pickle
import pickletools
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from lipgnn.datasets.features import build_csr
from lipgnn.datasets.limits import check_memory
from lipgnn.datasets.source import damaged

_KINDS = ("f4", "f8", "i4", "i8", "u1", "b1")
# Opcodes that give an object a number.
_MEMO = ("PUT", "BINPUT", "LONG_BINPUT")
# Bytes of memory that a byte of a pickle takes at most; an empty list is one byte, and 56 in memory.
_OBJECTS = 64


class _Refused(Exception):
    """The pickle asked for something outside the list."""


class _Sealed(type):
    """The type of stand-ins: nothing in a pickle changes one for the pickles after it."""

    def __setattr__(cls, name: str, value: Any) -> None:
        raise _Refused(f"it sets {name!r} of the reader itself")


class _Dtype(metaclass=_Sealed):
    """What numpy.dtype was called with; its state's second entry is the byte order."""

    __slots__ = ("kind", "order")

    def __init__(self, kind: str = "", *_: Any):
        self.kind, self.order = kind, "<"

    def __setstate__(self, state: tuple) -> None:
        self.order = state[1]

    def build(self) -> np.dtype:
        if self.kind not in _KINDS or self.order not in ("<", ">", "|", "="):
            raise ValueError(f"an array of unexpected type {self.kind!r}")
        return np.dtype(self.kind).newbyteorder(self.order)


class _Array(metaclass=_Sealed):
    """What numpy's reconstruction of an array was given: (version, shape, dtype, Fortran order, bytes)."""

    __slots__ = ("state",)

    def __init__(self, *_: Any):
        self.state = ()

    def __setstate__(self, state: tuple) -> None:
        self.state = state

    def build(self) -> np.ndarray:
        _, shape, dtype, fortran, content = self.state
        if isinstance(content, str):
            content = content.encode("latin1")  # Python 2 wrote bytes as text
        return np.frombuffer(content, dtype.build()).reshape(shape, order="F" if fortran else "C").copy()


class _Matrix(metaclass=_Sealed):
    """The attributes of a scipy CSR matrix."""

    __slots__ = ("state",)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.state = state

    def build(self) -> sparse.csr_array:
        data, indices, indptr = (self.state[name].build() for name in ("data", "indices", "indptr"))
        rows, columns = self.state["_shape"]
        return build_csr(data, indices, indptr, (int(rows), int(columns)))


class _Neighbours(dict, metaclass=_Sealed):
    """A dictionary, whatever it was made with."""

    __slots__ = ()

    def __init__(self, *_: Any):
        super().__init__()

    def __setstate__(self, state: Any) -> None:
        raise _Refused("it gives a dictionary more than entries")


class _List(metaclass=_Sealed):
    """What a defaultdict makes; it is named in files, and never called."""

    __slots__ = ()

    def __new__(cls, *_: Any) -> Any:
        raise _Refused("it makes lists out of others")


_STAND_INS: dict[tuple[str, str], type] = {
    ("numpy.core.multiarray", "_reconstruct"): _Array,
    ("numpy._core.multiarray", "_reconstruct"): _Array,
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): _Dtype,
    ("scipy.sparse.csr", "csr_matrix"): _Matrix,
    ("scipy.sparse._csr", "csr_matrix"): _Matrix,
    ("collections", "defaultdict"): _Neighbours,
    ("__builtin__", "list"): _List,
    ("builtins", "list"): _List,
}


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _STAND_INS:
            raise _Refused(f"it asks for {f'{module}.{name}'!r}, which no Planetoid file needs")
        return _STAND_INS[module, name]

    def persistent_load(self, pid: Any) -> Any:
        raise _Refused("it asks for an object outside the file (a persistent id)")


def _check_sizes(content: bytes) -> None:
    """Walk through the file without building anything: every length and every number of a memo must fit its size.

    The unpickler makes room for as many objects as the largest number says, and that may be four billion.
    """
    for opcode, argument, _ in pickletools.genops(content):
        if opcode.name in _MEMO and not 0 <= int(argument) <= len(content):
            raise _Refused(f"its {len(content):,} bytes remember an object number {int(argument):,}")


def read_pickle(path: Path) -> sparse.csr_array | np.ndarray | dict[int, list[int]]:
    """The matrix, array or neighbour lists in one of Planetoid's files; nothing in the file is run.

    Raises
    ------
    DataError : the file is missing or damaged, or names anything but the few globals Planetoid needs.
    """
    try:
        size = path.stat().st_size
        # As many bytes are read; an entry of a list takes a byte or more of it, and eight and more in memory.
        check_memory(path, _OBJECTS * size, size)
        raw = path.read_bytes()
        _check_sizes(raw)
        content = _Unpickler(io.BytesIO(raw), encoding="latin1").load()
    except _Refused as error:
        raise damaged(path, str(error), "Nothing was run. Fetch the file again from where it was published.") from error
    except OSError as error:
        raise damaged(path, error.strerror or str(error)) from error
    except Exception as error:
        # A damaged pickle fails in as many ways as there are opcodes.
        raise damaged(path, f"not a whole pickle ({type(error).__name__}: {error})") from error
    try:
        return content if isinstance(content, dict) else content.build()
    except Exception as error:
        raise damaged(path, f"not an array, a matrix or neighbour lists ({error})") from error
