"""What the functions of the compiled library take: their structures, member by member, and the sizes of all arrays."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

import torch

from lipgnn.errors import DataError
from lipgnn.kernels.adjacency import EdgeOrder


class EdgeOrderStructure(ctypes.Structure):
    _fields_ = [
        ("start", ctypes.c_void_p),
        ("other", ctypes.c_void_p),
        ("edge_id", ctypes.c_void_p),
        ("pieces", ctypes.c_void_p),
        ("num_pieces", ctypes.c_int64),
    ]

    @classmethod
    def of(cls, order: EdgeOrder) -> EdgeOrderStructure:
        arrays = (order.start, order.other, order.edge_id, order.pieces)
        if not all(array.is_cpu for array in arrays):
            raise DataError(f"The compiled kernels need a graph on the CPU, and this one is on {order.start.device}.")
        return cls(*(array.data_ptr() for array in arrays), len(order.pieces) - 1)


class GraphStructure(ctypes.Structure):
    _fields_ = [
        ("num_sources", ctypes.c_int64),
        ("num_targets", ctypes.c_int64),
        ("num_edges", ctypes.c_int64),
        ("incoming", EdgeOrderStructure),
        ("outgoing", EdgeOrderStructure),
        ("threads", ctypes.c_int64),
    ]


@dataclass(frozen=True)
class Form:
    """What the functions of one name take; see the headers in native/.

    Attributes
    ----------
    structure : its members in order.
    arrays : the type of every array, None for that of the call, and the names of the sizes whose product is the number
        of its entries.
    """

    structure: type[ctypes.Structure]
    arrays: dict[str, tuple[torch.dtype | None, tuple[str, ...]]]


_TYPES = {"int32": torch.int32, "int64": torch.int64, "float64": torch.float64}


def form(arrays: dict[str, str], **kinds: str) -> Form:
    """A form of the members of each kind, in the order given, and of arrays: a type, and sizes to be multiplied.

    Slots, because ctypes would otherwise take any name without a word.
    """
    types = {
        "graph": GraphStructure,
        "order": EdgeOrderStructure,
        "whole": ctypes.c_int64,
        "real": ctypes.c_double,
        "seed": ctypes.c_uint64,
    }
    fields = [(name, types[kind]) for kind, names in kinds.items() for name in names.split()]
    fields += [(name, ctypes.c_void_p) for name in arrays]
    sizes = {}
    for name, words in arrays.items():
        kind, *factors = words.split() if words.split()[0] in _TYPES else ("", *words.split())
        sizes[name] = (_TYPES.get(kind), tuple(factors))
    return Form(type("Structure", (ctypes.Structure,), {"_fields_": fields, "__slots__": ()}), sizes)


_SIZES = "heads width heads_fastest normalize shift"
# What comes out of a step of attention, its gradient, and room for that in the order of memory.
_OUTPUT = {
    "out": "targets row",
    "spread": "targets 2 padded",
    "grad_out": "targets row",
    "grad_rows": "targets row",
}
# What steps by products of queries and keys keep of every target, and of lengths under the norm.
_PRODUCTS = {
    "query_length": "targets padded",
    "length": "sources 2 padded",
    "target": "targets dot_product_parts padded",
    "longest_length": "targets 2 padded",
    "longest": "int32 targets 2 padded",
    **_OUTPUT,
    "grad_length": "targets 2 padded",
    "grad_longest": "2 padded sources",
}
# Of edges with types as well, which have a function of their own.
_DOT_PRODUCT = form(
    {
        "query": "targets row",
        "key": "sources row",
        "value": "sources row",
        "edge_weight": "edges",
        **_PRODUCTS,
        "grad_query": "targets row",
        "grad_key": "sources row",
        "grad_value": "sources row",
        "grad_edge_weight": "edges",
        "code": "types row",
        "incoming_type": "int32 edges",
        "outgoing_type": "int32 edges",
        "grad_code": "types row",
        "partial": "shares types row",
    },
    graph="graph",
    whole=f"{_SIZES} types shares",
    real="kappa dropout",
    seed="seed",
)
FORMS = {
    "additive": form(
        {
            "z": "sources row",
            "z_target": "targets row",
            "attn": "2 row",
            "bias": "row",
            "edge_weight": "edges",
            "attn_length": "padded",
            "source": "sources 2 padded",
            "target": "targets additive_parts padded",
            "own_length": "targets padded",
            "longest_length": "targets padded",
            "longest": "int32 targets padded",
            **_OUTPUT,
            "grad_right": "targets padded",
            "grad_length": "targets 2 padded",
            "grad_longest": "padded sources",
            "grad_z": "sources row",
            "grad_z_target": "targets row",
            "grad_attn": "2 row",
            "grad_bias": "row",
            "grad_edge_weight": "edges",
            "partial": "pieces share",
        },
        graph="graph",
        whole=_SIZES,
        real="kappa slope dropout",
        seed="seed",
    ),
    "batch_norm": form(
        {
            "x": "rows width",
            **dict.fromkeys(["weight", "bias", "running_mean", "running_var", "mean", "inverse"], "width"),
            **dict.fromkeys(["out", "grad_out", "grad_x"], "rows width"),
            **dict.fromkeys(["grad_weight", "grad_bias"], "width"),
        },
        whole="rows width threads training",
        real="eps momentum",
    ),
    "dot_product": _DOT_PRODUCT,
    "dynamic": form(
        {
            "key": "sources row",
            "query": "targets row",
            "attn": "row",
            "bias": "row",
            "edge_weight": "edges",
            "attn_length": "padded",
            "key_length": "sources padded",
            "query_length": "targets padded",
            "target": "targets additive_parts padded",
            "longest_length": "targets padded",
            "longest": "int32 targets padded",
            **_OUTPUT,
            "grad_length": "targets padded",
            "grad_longest": "padded sources",
            "grad_key": "sources row",
            "grad_query": "targets row",
            "grad_attn": "row",
            "grad_bias": "row",
            "grad_edge_weight": "edges",
            "partial": "pieces share",
        },
        graph="graph",
        whole=_SIZES,
        real="kappa slope dropout",
        seed="seed",
    ),
    "feature_dropout": form({"x": "size", "result": "size"}, whole="size threads", real="p", seed="seed"),
    "residual_elu": form(
        {"x": "size", "y": "size", "grad_out": "size", "result": "size"}, whole="size threads", real="scale"
    ),
    "row_measures": form(
        {
            "x": "rows width",
            "less": "rows width",
            "group": "int64 rows",
            "centers": "float64 centers width",
            "result": "float64 4",
        },
        whole="rows width groups threads",
    ),
    "shared_product": form(
        {
            "query": "targets channels",
            "key": "sources channels",
            "mixing": "channels padded",
            "value": "sources row",
            "edge_weight": "edges",
            "query_factor": "targets",
            "key_factor": "sources",
            **_PRODUCTS,
            "grad_query": "targets channels",
            "grad_key": "sources channels",
            "grad_mixing": "channels padded",
            "grad_value": "sources row",
            "grad_edge_weight": "edges",
            "partial": "pieces 2 channels padded",
        },
        graph="graph",
        whole=f"{_SIZES} channels",
        real="kappa dropout scale",
        seed="seed",
    ),
    "smoothness": form({"x": "targets width", "result": "float64 2"}, graph="graph", whole="width"),
    "sparse_product": form(
        {"values": "entries", "dense": "columns width", "bias": "width", "result": "rows width"},
        order="order",
        whole="width threads",
    ),
    "summary": form({"values": "size", "result": "float64 3"}, whole="size threads"),
    "typed_product": _DOT_PRODUCT,
    "walk_steps": form(
        {
            "spans": "int64 windows 3",
            "edge": "int64 entries",
            "logits": "choices",
            "start": "rows",
            "result": "rows",
            "lost": "int64 windows",
            "grad_result": "rows",
            "grad_logits": "choices",
            "grad_start": "rows",
        },
        order="order",
        whole="windows choices threads",
    ),
}
