"""The compiled library: whether it is there and runs on this processor, and how arrays are handed to it.

Compiled code believes what it is told. So every array is checked before every call: type, number of entries, and that
it is in one piece in the memory of the CPU. Where edges lead is checked once for every graph (see `adjacency`).
"""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import math
import platform
import weakref

import torch

from lipgnn.errors import DataError, UsageError
from lipgnn.kernels.adjacency import Adjacency, EdgeOrder
from lipgnn.kernels.forms import FORMS, EdgeOrderStructure, GraphStructure

Value = Adjacency | EdgeOrder | int | float | torch.Tensor
Sizes = tuple[tuple[str, int], ...]

FLOATS = (torch.float32, torch.float64)
# Heads that fill one vector.
VECTOR_HEADS = (4, 8)
# There is room for the values of so many (WidthFastest in native/rows.h).
MOST_HEADS = 1024

_UNKNOWN = (torch.float32, math.nan)


@functools.cache
def library() -> tuple[ctypes.CDLL | None, str]:
    """The library, or None and the reason why it cannot be used here."""
    built = importlib.util.find_spec("lipgnn.kernels._native")
    if not built or not built.origin:
        return None, "the fused kernel was not compiled when lipgnn was installed (that takes a C++ compiler)"
    # On these processors it is compiled for AVX2 (see setup.py), which torch uses wherever it finds it.
    if platform.machine() in ("x86_64", "AMD64") and torch.backends.cpu.get_cpu_capability() == "DEFAULT":
        return None, "the fused kernel needs a processor with AVX2"
    try:
        found = ctypes.CDLL(built.origin)
    except OSError as error:
        return None, f"the fused kernel cannot be loaded ({error})"
    if not _fits(found):
        return None, "the fused kernel was compiled from other sources (install lipgnn again)"
    return found, ""


def _fits(found: ctypes.CDLL) -> bool:
    """Whether its structures are those of this module."""
    sizes = {name: getattr(found, f"{name}_size", None) for name in FORMS}
    return all(size and size() == ctypes.sizeof(FORMS[name].structure) for name, size in sizes.items())


def made_by_intel() -> bool:
    """Whether the processor is one of Intel's."""
    return bool(library()[0].made_by_intel())


def padded(heads: int) -> int:
    """The number of heads, filled up to whole vectors of four or eight, in which their values are computed."""
    return 4 if heads <= 4 else -(-heads // 8) * 8


def call(name: str, direction: str, dtype: torch.dtype, **values: Value) -> None:
    """Call one function of the library.

    Parameters
    ----------
    name, direction : which; the direction is "forward" or "backward".
    values : the members of its structure; arrays that are not used can be left out.

    Raises
    ------
    UsageError : a type that it does not compute in.
    DataError : an array that is not what it would be taken for.
    """
    if dtype not in FLOATS:
        what = f"The compiled kernels compute in float32 and float64, and got {_named(dtype)}."
        raise UsageError(what, "Use float32, by .float(), and leave torch.autocast.")
    sizes = tuple((size, int(value)) for size, value in values.items() if isinstance(value, int) and size != "seed")
    needed = _needed(name, dtype, sizes + _sizes_of(values.get("graph")) + _sizes_of(values.get("order")))
    structure = FORMS[name].structure()
    for member, value in values.items():
        if not isinstance(value, torch.Tensor):
            setattr(structure, member, _plain(value))
            continue
        own, count = needed.get(member, _UNKNOWN)
        if not (value.dtype is own and value.numel() == count and value.is_cpu and value.is_contiguous()):
            raise _refusal(name, member, value, own, count)
        setattr(structure, member, value.data_ptr())
    if "graph" in values:
        structure.graph.threads = torch.get_num_threads()
    function = getattr(library()[0], f"{name}_{direction}_{_named(dtype)}")
    function(ctypes.byref(structure))


def _sizes_of(edges: Adjacency | EdgeOrder | None) -> Sizes:
    if edges is None:
        return ()
    if isinstance(edges, EdgeOrder):
        return ("rows", len(edges.start) - 1), ("entries", len(edges.other)), ("columns", edges.others)
    return tuple((name, getattr(edges, f"num_{name}")) for name in ("sources", "targets", "edges", "pieces"))


@functools.lru_cache(maxsize=1024)
def _needed(name: str, dtype: torch.dtype, given: Sizes) -> dict[str, tuple[torch.dtype, int]]:
    """The type and the number of entries of every array of a form, from the sizes of a call."""
    sizes = dict(given)
    if "heads" in sizes:
        heads, normalize, shift = (sizes[size] for size in ("heads", "normalize", "shift"))
        if heads > MOST_HEADS or (sizes["heads_fastest"] and heads not in VECTOR_HEADS):
            raise UsageError(f"The fused kernel has no room for {heads} heads in this order.", "Use --kernel dgl.")
        row = heads * sizes["width"]
        sizes |= {"row": row, "padded": padded(heads), "share": 3 * row + padded(heads)}
        sizes |= {"additive_parts": 3 + normalize + 2 * shift, "dot_product_parts": 2 + 2 * normalize + 2 * shift}
    if "groups" in sizes:
        sizes["centers"] = sizes["groups"] + 1
    arrays = FORMS[name].arrays.items()
    # NaN is the length of no array: it is refused where a size that it depends on was not given.
    for factor in {factor for _, (_, factors) in arrays for factor in factors} - set(sizes):
        sizes[factor] = int(factor) if factor.isdigit() else math.nan
    return {member: (own or dtype, math.prod(map(sizes.get, factors))) for member, (own, factors) in arrays}


def _refusal(name: str, member: str, array: torch.Tensor, own: torch.dtype, count: int) -> DataError:
    return DataError(
        f"{name} needs {member} as {count} values of {_named(own)} in one piece on the CPU, and got {array.numel()} of "
        f"{_named(array.dtype)} with shape {tuple(array.shape)} and strides {array.stride()} on {array.device}.",
        "Give features with a row for every node, of one type, on the device of the graph.",
    )


def _named(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _plain(value: Value) -> ctypes.Structure | int | float:
    if isinstance(value, Adjacency):
        if value not in _graphs:
            orders = EdgeOrderStructure.of(value.incoming), EdgeOrderStructure.of(value.outgoing)
            _graphs[value] = GraphStructure(value.num_sources, value.num_targets, value.num_edges, *orders, 1)
        return _graphs[value]
    return EdgeOrderStructure.of(value) if isinstance(value, EdgeOrder) else value


# Made once for a graph.
_graphs: weakref.WeakKeyDictionary[Adjacency, GraphStructure] = weakref.WeakKeyDictionary()
