"""The types of a graph's edges, checked once for every tensor of them and kept as long as that lives."""

from __future__ import annotations

import weakref
from dataclasses import dataclass

import torch

from lipgnn.errors import DataError
from lipgnn.kernels.adjacency import Adjacency
from lipgnn.runtime import EDGE_TYPE, dgl

_WHOLE = (torch.int64, torch.int32)


def types_of(graph: dgl.DGLGraph, count: int) -> torch.Tensor:
    """`graph.edata["edge_type"]`, (E,) int64, from 0 to count − 1.

    Raises
    ------
    DataError : there are none, or they are not whole numbers from 0 to count − 1, one for each edge.
    """
    return _checked(graph, count)[0].long()


@dataclass(frozen=True, eq=False)
class TypedEdges:
    """The types of all edges in both orders of a graph. Compiled code goes where they lead: make them by `of`.

    Attributes
    ----------
    adjacency : the orders.
    incoming, outgoing : (E,) int32, the types of the edges in these.
    """

    adjacency: Adjacency
    incoming: torch.Tensor
    outgoing: torch.Tensor

    @classmethod
    def of(cls, graph: dgl.DGLGraph, count: int) -> TypedEdges:
        """Those of `types_of`, made on first use.

        Raises
        ------
        DataError : see `types_of`; or more edges than 32 bits can number.
        """
        types, known = _checked(graph, count)
        adjacency = Adjacency.of(graph)
        if known.orders is None or known.orders.adjacency is not adjacency:
            if adjacency.num_edges >= 2**31:
                raise DataError(
                    f"There are {adjacency.num_edges} edges; fused kernels number those that have types with 32 bits.",
                    "Use --kernel dgl.",
                )
            orders = (adjacency.incoming, adjacency.outgoing)
            known.orders = cls(adjacency, *(types[order.edge_id].int().contiguous() for order in orders))
        return known.orders


@dataclass
class _Known:
    """What is known of a tensor of types, as long as it is of this version."""

    version: int | None
    largest: int
    orders: TypedEdges | None = None


# By the identity of the tensor: a deep network asks in every layer.
_known: dict[int, _Known] = {}


def _checked(graph: dgl.DGLGraph, count: int) -> tuple[torch.Tensor, _Known]:
    if EDGE_TYPE not in graph.edata:
        raise DataError(
            f"The layer tells {count} types of edges apart, and the graph does not say of which its edges are.",
            f"Put a whole number for every edge into graph.edata[{EDGE_TYPE!r}].",
        )
    types = graph.edata[EDGE_TYPE]
    known = _of_tensor(types)
    if known.largest >= count:
        raise DataError(
            f"An edge of the graph is of type {known.largest}, and the layer has {count} types, from 0 to {count - 1}.",
            "Make the layer with as many edge_types as the data has.",
        )
    return types, known


def _of_tensor(types: torch.Tensor) -> _Known:
    if types.is_inference():  # it has no version
        return _Known(None, _largest(types))
    known = _known.get(id(types))
    if known is None or known.version != types._version:
        known = _Known(types._version, _largest(types))
        if _known.setdefault(id(types), known) is known:
            weakref.finalize(types, _known.pop, id(types))
        _known[id(types)] = known
    return known


def _largest(types: torch.Tensor) -> int:
    """The largest type, -1 where there are no edges."""
    if types.dim() != 1 or types.dtype not in _WHOLE:
        raise DataError(
            f"Types of edges must be one whole number for every edge, int64 or int32, and are "
            f"{str(types.dtype).removeprefix('torch.')} of shape {tuple(types.shape)}.",
            "Convert them by .long(), and number them from 0 on.",
        )
    if not types.numel():
        return -1
    least, most = (int(end) for end in types.aminmax())
    if least < 0:
        raise DataError(f"An edge of the graph is of type {least}, and types count from 0.", "Number them from 0 on.")
    return most
