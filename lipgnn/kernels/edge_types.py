"""The types of a graph's edges, checked once for every tensor of them and kept as long as that lives."""

from __future__ import annotations

import weakref
from dataclasses import dataclass

import torch

from lipgnn.errors import DataError
from lipgnn.runtime import EDGE_TYPE, dgl

_WHOLE = (torch.int64, torch.int32)


@dataclass(frozen=True)
class EdgeTypes:
    """The types of all edges. Compiled code goes where they lead: make them by `of`.

    Attributes
    ----------
    types : (E,) int64, by DGL's number of the edge.
    count : how many types there are; all are from 0 to count − 1.
    """

    types: torch.Tensor
    count: int

    @classmethod
    def of(cls, graph: dgl.DGLGraph, count: int) -> EdgeTypes:
        """Those of `graph.edata["edge_type"]`.

        Raises
        ------
        DataError : there are none, or they are not whole numbers from 0 to count − 1, one for each edge.
        """
        if EDGE_TYPE not in graph.edata:
            raise DataError(
                f"The layer tells {count} types of edges apart, and the graph does not say of which its edges are.",
                f"Put a whole number for every edge into graph.edata[{EDGE_TYPE!r}].",
            )
        types = graph.edata[EDGE_TYPE]
        largest = _largest_of(types)
        if largest >= count:
            raise DataError(
                f"An edge of the graph is of type {largest}, and the layer has {count} types, from 0 to {count - 1}.",
                "Make the layer with as many edge_types as the data has.",
            )
        return cls(types.long(), count)


def _largest_of(types: torch.Tensor) -> int:
    if types.is_inference():  # it has no version
        return _checked(types)
    version, largest = _known.get(id(types), (None, -1))
    if version != types._version:
        largest = _checked(types)
        weakref.finalize(types, _known.pop, id(types), None)
        _known[id(types)] = types._version, largest
    return largest


def _checked(types: torch.Tensor) -> int:
    """The largest of them, -1 where there are none."""
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


# By the identity of the tensor, with its version: a deep network asks in every layer.
_known: dict[int, tuple[int, int]] = {}
