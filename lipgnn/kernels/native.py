"""The compiled library: whether it is there and runs on this processor, and how arrays are handed to it."""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import platform

import torch

from lipgnn.kernels.adjacency import Adjacency, EdgeOrder

Value = Adjacency | EdgeOrder | int | float | torch.Tensor


class _EdgeOrder(ctypes.Structure):
    _fields_ = [
        ("start", ctypes.c_void_p),
        ("other", ctypes.c_void_p),
        ("edge_id", ctypes.c_void_p),
        ("pieces", ctypes.c_void_p),
        ("num_pieces", ctypes.c_int64),
    ]

    @classmethod
    def of(cls, order: EdgeOrder) -> _EdgeOrder:
        arrays = (order.start, order.other, order.edge_id, order.pieces)
        return cls(*(array.data_ptr() for array in arrays), len(order.pieces) - 1)


class _Graph(ctypes.Structure):
    _fields_ = [
        ("num_nodes", ctypes.c_int64),
        ("num_edges", ctypes.c_int64),
        ("incoming", _EdgeOrder),
        ("outgoing", _EdgeOrder),
        ("threads", ctypes.c_int64),
    ]


def _structure(**kinds: str) -> type[ctypes.Structure]:
    """A structure of the members of each kind, in the order given; see the headers in native/.

    Slots, because ctypes would otherwise take any name without a word.
    """
    types = {
        "graph": _Graph,
        "order": _EdgeOrder,
        "whole": ctypes.c_int64,
        "real": ctypes.c_double,
        "seed": ctypes.c_uint64,
    }
    fields = [(name, types.get(kind, ctypes.c_void_p)) for kind, names in kinds.items() for name in names.split()]
    return type("Structure", (ctypes.Structure,), {"_fields_": fields, "__slots__": ()})


_SIZES = "heads width heads_fastest normalize shift"
_STRUCTURES = {
    "additive": _structure(
        graph="graph",
        whole=_SIZES,
        real="kappa slope dropout",
        seed="seed",
        arrays="z attn bias attn_length source target longest_length longest out spread "
        "grad_out grad_rows grad_right grad_length grad_longest grad_z grad_attn grad_bias partial",
    ),
    "dot_product": _structure(
        graph="graph",
        whole=_SIZES,
        real="kappa dropout",
        seed="seed",
        arrays="query key value length target longest_length longest out spread "
        "grad_out grad_rows grad_length grad_longest grad_query grad_key grad_value",
    ),
    "residual_elu": _structure(whole="size threads", real="scale", arrays="x y grad_out result"),
    "row_measures": _structure(whole="rows width groups threads", arrays="x less group centers result"),
    "smoothness": _structure(graph="graph", whole="width", arrays="x result"),
    "sparse_product": _structure(order="order", whole="width threads", arrays="values dense bias result"),
    "summary": _structure(whole="size threads", arrays="values result"),
}


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
        return ctypes.CDLL(built.origin), ""
    except OSError as error:
        return None, f"the fused kernel cannot be loaded ({error})"


def call(name: str, direction: str, dtype: torch.dtype, **values: Value) -> None:
    """Call one function of the library.

    Parameters
    ----------
    name, direction : which; the direction is "forward" or "backward".
    values : the members of its structure; arrays that are not used can be left out.
    """
    structure = _STRUCTURES[name]()
    for member, value in values.items():
        setattr(structure, member, _plain(value))
    function = getattr(library()[0], f"{name}_{direction}_{str(dtype).removeprefix('torch.')}")
    function(ctypes.byref(structure))


def _plain(value: Value) -> ctypes.Structure | int | float:
    if isinstance(value, torch.Tensor):
        return value.data_ptr()
    if isinstance(value, EdgeOrder):
        return _EdgeOrder.of(value)
    if isinstance(value, Adjacency):
        orders = _EdgeOrder.of(value.incoming), _EdgeOrder.of(value.outgoing)
        return _Graph(value.num_nodes, value.num_edges, *orders, torch.get_num_threads())
    return value
