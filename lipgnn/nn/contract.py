"""What a layer owes the rest of the program, and how the rest reads it.

A layer says what is true of it by attributes and methods of its class, which the protocol below names. Most of them
need not be there: whoever reads a fact goes through the functions of this module and of `lipgnn.norms.contract`, and
what a class does not say is taken for the careful case, never for the convenient one. An unknown layer is not local,
counts out-edges, keeps statistics, and has neither attention, nor linear maps, nor a certified bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

import torch
from torch import nn

from lipgnn.nn.linear_map import LinearMap
from lipgnn.nn.loops import without_loops
from lipgnn.nn.spread import Spread
from lipgnn.norms.bound import Bound
from lipgnn.norms.contract import certified, is_local, keeps_statistics, said
from lipgnn.runtime import dgl
from lipgnn.spec.network import NetworkSpec

__all__ = [
    "Layer",
    "acts_alike",
    "attended",
    "attention_of",
    "certified",
    "is_local",
    "keeps_statistics",
    "layer_of",
    "maps_of",
    "mixed_by",
    "own_skip",
    "score_norm_of",
    "score_weights_of",
    "shown",
    "value_map_of",
]


class Layer(Protocol):
    """A layer on graphs: a module called as `layer(graph, x)`, (N, W) → (N, W) or (N, H, D) with H·D = W.

    The first one of a network without an encoder takes features (N, F).

    Attributes
    ----------
    local : whether what becomes of a node depends on its in-neighbours and itself alone, and on how many edges leave
        them if it `counts_out_edges`.
    counts_out_edges : whether it depends on these numbers, as GCN does: nodes whose in-neighbours are alike may then
        become different.
    keeps_statistics : whether it sees the batch in training and keeps statistics of it for evaluation, as the
        BatchNorm in GIN does. Where only some nodes' outputs are wanted, such a layer is called with a message-flow
        graph and the features of its sources, so that it sees no node that is dropped afterwards.
    attention : the kind of its attention, "additive", "dot-product", "dynamic" or "shared-product"; None where it has
        none. A layer with attention has `num_heads`, its score norm or None as `norm`, `spread`, and a call with
        `get_attention=True` that returns the output and the weights (E, H, 1).
    attends_to_loops : whether self-loops count among the edges of its attention; where not, their weights are zero.
    score_weights : the parameters, beside its maps, that scores are made of; where they are zero all scores are.
    typed_edges : whether it tells types of edges apart: it is then made with `edge_types=`, their number, where the
        data has such, and finds those of a graph's edges in its edge data (see lipgnn.runtime.EDGE_TYPE).
    linear_skip : whether its attribute `skip` is a linear map past everything else, or None to be without it.
    maps : its linear maps, which weight norms bound and initializations draw.
    value_map : the one of them from features to what a node adds up of its neighbours. A layer with one leads from
        features of any width: as the first of a network without an encoder it is made with `in_feats=`, their number.
    """

    local: bool
    counts_out_edges: bool
    keeps_statistics: bool
    attention: str | None
    attends_to_loops: bool
    score_weights: Sequence[nn.Parameter]
    typed_edges: bool
    linear_skip: bool
    maps: Sequence[LinearMap]
    value_map: LinearMap

    @classmethod
    def from_spec(cls, spec: NetworkSpec, width: int) -> Layer:
        """The layer of this network, from features of `width` channels to as many; every layer needs this.

        Where `typed_edges` and `value_map` say so, it takes `edge_types=` and `in_feats=` as well.
        """
        ...

    @classmethod
    def from_spec_at(cls, spec: NetworkSpec, width: int, layer: int) -> Layer:
        """In its place, the layer of this number, from 1 on, where those of a network are not alike.

        What goes from one to the next may then be of another width; it is `width` before the first and after the last.
        """
        ...

    def shown(self, y: torch.Tensor) -> torch.Tensor:
        """The part of what such a layer gives that measurements of features are about."""
        ...

    def values(self, x: torch.Tensor) -> torch.Tensor:
        """What `value_map` makes of features, (N, W) → (N, W), without a bias."""
        ...

    def mixed(self, graph: dgl.DGLGraph, x: torch.Tensor, start: torch.Tensor, alpha: float) -> torch.Tensor:
        """(1 − α) layer(graph, x) + α values(x⁰), where the layer has a cheaper way than one after the other."""
        ...

    def certified(self, graph: dgl.DGLGraph) -> Bound:
        """The Lipschitz constant of the layer on `graph`, or the reason why none is known."""
        ...

    def spread(self, graph: dgl.DGLGraph, x: torch.Tensor) -> Spread:
        """How evenly every node's attention is spread, of a layer in evaluation."""
        ...


def acts_alike(layer: nn.Module) -> bool:
    """Whether nodes with the same in-neighbours become the same, whatever else there is in the graph."""
    return is_local(layer) and not said(layer, "counts_out_edges", True)


def attention_of(layer: nn.Module) -> str | None:
    """The kind of a layer's attention, if it says that it has one."""
    return said(layer, "attention", None)


def attended(layers: Iterable[nn.Module], graph: dgl.DGLGraph) -> dgl.DGLGraph:
    """The graph of the edges that the attention of these layers, all of one kind, is over."""
    loops = all(said(layer, "attends_to_loops", True) for layer in layers)
    return graph if loops else without_loops(graph).graph


def maps_of(layer: nn.Module) -> Sequence[LinearMap]:
    """The linear maps of a layer, as far as it names them."""
    return said(layer, "maps", ())


def value_map_of(layer: nn.Module) -> LinearMap | None:
    """The map of a layer from features to what a node adds up of its neighbours, if it names one."""
    return said(layer, "value_map", None)


def mixed_by(layer: nn.Module) -> Callable[..., torch.Tensor] | None:
    """The way of a layer to be mixed with the first features, if it has one of its own."""
    return said(layer, "mixed", None)


def own_skip(layer: nn.Module) -> nn.Linear | None:
    """The linear skip of a layer, if it says that it has one and it was not taken away."""
    return layer.skip if said(layer, "linear_skip", False) else None


def score_norm_of(layer: nn.Module) -> nn.Module | None:
    """The score norm of a layer with attention, if there is one."""
    return layer.norm if attention_of(layer) else None


def score_weights_of(layer: nn.Module) -> Sequence[nn.Parameter]:
    """The parameters of a layer that its scores are made of, as far as it names them."""
    return said(layer, "score_weights", ())


def layer_of(
    kind: type[Layer], spec: NetworkSpec, width: int, layer: int, edge_types: int = 0, in_feats: int | None = None
) -> Layer:
    """The layer of this kind and number, from 1 on, for graphs of so many types of edges.

    Parameters
    ----------
    in_feats : the width of its input, where that is not the width of its output.
    """
    own = {"edge_types": edge_types} if edge_types and getattr(kind, "typed_edges", False) else {}
    own |= {} if in_feats in (None, width) else {"in_feats": in_feats}
    make = getattr(kind, "from_spec_at", None)
    return make(spec, width, layer, **own) if make else kind.from_spec(spec, width, **own)


def shown(layer: nn.Module | None, y: torch.Tensor) -> torch.Tensor:
    """What of a layer's output is measured: all of it unless the layer says otherwise."""
    own = None if layer is None else said(layer, "shown", None)
    return own(y) if own else y
