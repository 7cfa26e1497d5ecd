"""Planetoid's pickles, read without running anything they name.

A pickle is a program: it may call any function it can name. The files of Planetoid need six names. Each is
answered here by a stand-in that only notes what it is given; arrays and matrices are then built from the
notes, and checked, by our own code. Every other name is refused.
"""

from __future__ import annotations

import pickle
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from lipgnn.datasets.features import build_csr
from lipgnn.datasets.source import damaged

_KINDS = ("f4", "f8", "i4", "i8", "u1", "b1")


class _Refused(Exception):
    """The pickle asked for something outside the list."""


class _Dtype:
    """What numpy.dtype was called with; its state's second entry is the byte order."""

    def __init__(self, kind: str = "", *_: Any):
        self.kind, self.order = kind, "<"

    def __setstate__(self, state: tuple) -> None:
        self.order = state[1]

    def build(self) -> np.dtype:
        if self.kind not in _KINDS or self.order not in ("<", ">", "|", "="):
            raise ValueError(f"an array of unexpected type {self.kind!r}")
        return np.dtype(self.kind).newbyteorder(self.order)


class _Array:
    """What numpy's reconstruction of an array was given: (version, shape, dtype, Fortran order, bytes)."""

    state: tuple = ()

    def __init__(self, *_: Any):
        pass

    def __setstate__(self, state: tuple) -> None:
        self.state = state

    def build(self) -> np.ndarray:
        _, shape, dtype, fortran, content = self.state
        if isinstance(content, str):
            content = content.encode("latin1")  # Python 2 wrote bytes as text
        return np.frombuffer(content, dtype.build()).reshape(shape, order="F" if fortran else "C").copy()


class _Matrix:
    """The attributes of a scipy CSR matrix."""

    def build(self) -> sparse.csr_array:
        parts = [self.__dict__[name].build() for name in ("data", "indices", "indptr")]
        return build_csr(*parts, shape=tuple(self.__dict__["_shape"]))


_STAND_INS: dict[tuple[str, str], Any] = {
    ("numpy.core.multiarray", "_reconstruct"): _Array,
    ("numpy._core.multiarray", "_reconstruct"): _Array,
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): _Dtype,
    ("scipy.sparse.csr", "csr_matrix"): _Matrix,
    ("scipy.sparse._csr", "csr_matrix"): _Matrix,
    ("collections", "defaultdict"): defaultdict,
    ("__builtin__", "list"): list,
    ("builtins", "list"): list,
}


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _STAND_INS:
            raise _Refused(f"it asks for {f'{module}.{name}'!r}, which no Planetoid file needs")
        return _STAND_INS[module, name]

    def persistent_load(self, pid: Any) -> Any:
        raise _Refused("it asks for an object outside the file (a persistent id)")


def read_pickle(path: Path) -> sparse.csr_array | np.ndarray | dict[int, list[int]]:
    """The matrix, array or neighbour lists in one of Planetoid's files; nothing in the file is run.

    Raises
    ------
    DataError : the file is missing or damaged, or names anything but the few globals Planetoid needs.
    """
    try:
        with open(path, "rb") as file:
            content = _Unpickler(file, encoding="latin1").load()
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
