"""The compiled library: whether it is there and runs on this processor, and how arrays are handed to it."""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import platform

import torch

from lipgnn.kernels.adjacency import Adjacency, EdgeOrder


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


def _form(name: str, numbers: str, arrays: str) -> type[ctypes.Structure]:
    """The structure that one form of attention takes, as in native/<name>.h: graph, sizes, numbers, pointers."""
    fields = [("graph", _Graph)]
    fields += [(size, ctypes.c_int64) for size in ("heads", "width", "heads_fastest", "normalize", "shift")]
    fields += [(number, ctypes.c_double) for number in numbers.split()]
    fields += [("seed", ctypes.c_uint64)]
    fields += [(array, ctypes.c_void_p) for array in arrays.split()]
    return type(name, (ctypes.Structure,), {"_fields_": fields})


_FORMS = {
    "additive": _form(
        "Additive",
        "slope dropout",
        "z attn attn_scale source target longest out "
        "grad_out grad_rows grad_right grad_length grad_longest grad_z partial",
    ),
    "dot_product": _form(
        "DotProduct",
        "kappa dropout",
        "query key value length target longest out "
        "grad_out grad_rows grad_length grad_longest grad_query grad_key grad_value",
    ),
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


def call(form: str, direction: str, adjacency: Adjacency, dtype: torch.dtype, **values: int | float | torch.Tensor):
    """Call one function of the library.

    Parameters
    ----------
    form, direction : "additive" or "dot_product"; "forward" or "backward".
    values : the members of the form's structure; arrays that this direction does not use can be left out.
    """
    structure = _FORMS[form]()
    structure.graph = _Graph(
        adjacency.num_nodes,
        adjacency.num_edges,
        _EdgeOrder.of(adjacency.incoming),
        _EdgeOrder.of(adjacency.outgoing),
        torch.get_num_threads(),
    )
    for name, value in values.items():
        setattr(structure, name, value.data_ptr() if isinstance(value, torch.Tensor) else value)
    function = getattr(library()[0], f"{form}_{direction}_{str(dtype).removeprefix('torch.')}")
    function(ctypes.byref(structure))
