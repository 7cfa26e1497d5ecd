"""The features that a layer is given, as those of the sources and of the targets of a graph's edges, checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import nn

from lipgnn.errors import DataError
from lipgnn.kernels.adjacency import Size, size_of
from lipgnn.kernels.checks import check_type
from lipgnn.runtime import PerGraph, dgl

Features = torch.Tensor | Sequence[torch.Tensor]


@dataclass(frozen=True)
class Ends:
    """Features of the nodes at both ends of the edges, (N, …, F) and (M, …, F').

    Attributes
    ----------
    source : of the sources.
    target : of the targets; `source` itself where the nodes are the same.
    shared : whether the targets are the first of the sources, or all of them.
    """

    source: torch.Tensor
    target: torch.Tensor
    shared: bool

    @classmethod
    def of(cls, graph: dgl.DGLGraph, feat: Features, *, like: torch.Tensor, widths: tuple[int, int]) -> Ends:
        """The features of either end, as DGL reads them.

        Parameters
        ----------
        feat : (N, …, F) of all nodes; of a message-flow graph of its sources, the first of which are its targets. Or a
            pair of those of the sources, (N, …, F), and of the targets, (M, …, F').
        like : a weight of the layer, of whose type and on whose device they must be.
        widths : F and F'.

        Raises
        ------
        DataError : features that do not fit the graph or the layer.
        UsageError : a type that attention is not computed in, or a graph with several kinds of edges.
        """
        size = size_of(graph)
        sources, targets, _ = size
        if isinstance(feat, torch.Tensor):
            _check_one(graph, sources, targets, widths)
            _check(feat, sources, widths[0], "source" if graph.is_block else "node", size, like)
            return cls._shared(feat, targets)
        if len(feat) != 2:
            raise DataError(f"Features must be a tensor or a pair of sources' and targets', and are {len(feat)}.")
        source, target = feat
        _check(source, sources, widths[0], "source", size, like)
        _check(target, targets, widths[1], "target", size, like)
        if source.shape[1:-1] != target.shape[1:-1]:
            raise DataError(
                f"Features of sources and targets may differ in rows and columns alone, and have shapes "
                f"{tuple(source.shape)} and {tuple(target.shape)}."
            )
        return cls(source, target, False)

    @classmethod
    def _shared(cls, source: torch.Tensor, targets: int) -> Ends:
        return cls(source, source if targets == len(source) else source[:targets], True)

    def dropped(self, dropout: nn.Dropout) -> Ends:
        """Both after dropout, which is drawn once where they are shared."""
        if dropout.p == 0 or not dropout.training:
            return self
        if self.shared:
            return self._shared(dropout(self.source), len(self.target))
        return Ends(dropout(self.source), dropout(self.target), False)

    @property
    def num_targets(self) -> int:
        """How many targets there are; nodes are in the last but one place."""
        return self.target.shape[-2]

    def slices_first(self) -> Ends:
        """Of (N, …, F) the same as (B, N, F), B being the number of all …; slices of it are each in one piece."""
        source = self.source.flatten(1, -2).transpose(0, 1).contiguous()
        if self.target is self.source:
            return Ends(source, source, True)
        if self.shared:
            return Ends(source, source[:, : len(self.target)], True)
        return Ends(source, self.target.flatten(1, -2).transpose(0, 1).contiguous(), False)


def check_edge_weight(graph: dgl.DGLGraph, edge_weight: torch.Tensor, features: torch.Tensor) -> None:
    """Refuse weights of edges that are not one for each, or of another type than the features."""
    fits = edge_weight.dtype == features.dtype and edge_weight.device == features.device
    if edge_weight.shape != (graph.num_edges(),) or not fits:
        raise DataError(
            f"edge_weight must be ({graph.num_edges()},) of {_named(features.dtype)} on {features.device}, and is "
            f"{tuple(edge_weight.shape)} of {_named(edge_weight.dtype)} on {edge_weight.device}.",
            "Give one weight for every edge, in the order of the edges' numbers.",
        )


def check_in_degrees(graph: dgl.DGLGraph, *, allow_zero: bool) -> None:
    """Refuse a graph with nodes that no edge enters, naming the first few."""
    if allow_zero:
        return
    empty = _without_in_edges(graph)
    if empty:
        names = ", ".join(map(str, empty[:5]))
        raise DataError(
            f"{len(empty)} node(s) have no in-edge, the first: {names}; attention over no neighbour is undefined.",
            "Add self-loops with dgl.add_self_loop(graph), or pass allow_zero_in_degree=True.",
        )


# Once a graph: on a GPU the answer has to be waited for, and a deep network asks in every layer.
_without_in_edges = PerGraph(lambda graph: (graph.in_degrees() == 0).nonzero().flatten().tolist())


def cast(feat: Features, dtype: torch.dtype) -> Features:
    """The same features in this type."""
    return feat.to(dtype) if isinstance(feat, torch.Tensor) else tuple(x.to(dtype) for x in feat)


def _check_one(graph: dgl.DGLGraph, sources: int, targets: int, widths: tuple[int, int]) -> None:
    """Refuse a graph or layer for which one tensor is not enough."""
    kinds = graph.is_block or len(graph.ntypes) == 1
    if widths[0] != widths[1] or not kinds or targets > sources:
        raise DataError(
            "The targets of the edges are not among their sources, or of another width, and one tensor was given.",
            "Give a pair of the features of sources and of targets.",
        )


def _check(x: torch.Tensor, rows: int, width: int, end: str, size: Size, like: torch.Tensor) -> None:
    if x.dim() < 2 or len(x) != rows or x.shape[-1] != width:
        raise DataError(
            f"Features must have a row for each of the {rows} {end}s of the graph and {width} columns, "
            f"and have shape {tuple(x.shape)}.",
            "Give the features of the graph's nodes, in their order.",
        )
    if like.is_cpu:
        check_type(like.dtype)
    if x.dtype != like.dtype or not x.device == like.device == size.device:
        raise DataError(
            f"Features are {_named(x.dtype)} on {x.device}, the layer {_named(like.dtype)} on {like.device}, the graph "
            f"on {size.device}.",
            "Bring all to one type and device, by .to(…).",
        )


def _named(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
