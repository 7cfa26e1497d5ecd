"""What the attention layers share: the softmax-weighted sum, its checks, and its certified bound."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import ModuleType
from typing import NamedTuple

import torch
from torch import nn

from lipgnn.errors import DataError, UsageError, unknown_name
from lipgnn.kernels import implementation
from lipgnn.kernels.steps import MOST_HEADS
from lipgnn.norms import DotProductLipschitzNorm, LipschitzNorm
from lipgnn.runtime import PerGraph, dgl

fn = dgl.function


def aggregate(
    graph: dgl.DGLGraph, scores: torch.Tensor, value: torch.Tensor, dropout: nn.Module
) -> tuple[torch.Tensor, torch.Tensor]:
    """Softmax over the in-edges of every node, then the weighted sum of the sources' values.

    Parameters
    ----------
    scores : (E, H, 1).
    value : (N, H, D).
    dropout : applied to the attention weights.

    Returns
    -------
    the sums, (N, H, D), and the attention weights after dropout, (E, H, 1).
    """
    graph = graph.local_var()
    attention = dropout(dgl.nn.functional.edge_softmax(graph, scores))
    graph.srcdata["value"] = value
    graph.edata["attention"] = attention
    graph.update_all(fn.u_mul_e("value", "attention", "m"), fn.sum("m", "out"))
    return graph.dstdata["out"], attention


class Spread(NamedTuple):
    """How evenly the attention weights α_ij of every node and head are spread, (N, H) each.

    Attributes
    ----------
    entropy : −Σ_j α_ij log α_ij.
    largest : max_j α_ij; of no meaning where no edge enters.
    """

    entropy: torch.Tensor
    largest: torch.Tensor


def spread_of(graph: dgl.DGLGraph, weights: torch.Tensor) -> Spread:
    """That of attention weights (E, H), in float64."""
    weights = weights.double()
    entropy = dgl.ops.copy_e_sum(graph, -torch.xlogy(weights, weights))
    return Spread(entropy, dgl.ops.copy_e_max(graph, weights))


def find_kernel(requested: str, device: torch.device, heads: int, *, fits: bool) -> ModuleType | None:
    """The module of `lipgnn.kernels` to compute with, or None for the reference.

    Parameters
    ----------
    requested : the `kernel` of a layer.
    fits : whether the layer is one that fused kernels know.

    Raises
    ------
    UsageError : a fused kernel was asked for by name, and the layer is not one that it knows.
    """
    if requested in ("auto", "dgl") and not (fits and heads <= MOST_HEADS):
        return None
    if not fits:
        raise UsageError(
            f"Kernel {requested!r} knows layers without a score norm or with LipschitzNorm, and this is neither.",
            "Use kernel='auto' or 'dgl'.",
        )
    return implementation(requested, device)


def project(linear: nn.Linear, x: torch.Tensor, heads: int, *, heads_fastest: bool) -> torch.Tensor:
    """linear(x) as (N, H, D); with `heads_fastest` the heads lie next to each other in memory.

    The order is that of the weight's rows, which are few: no feature is moved.
    """
    width = linear.out_features // heads
    if not heads_fastest:
        return linear(x).unflatten(1, (heads, width))
    weight = linear.weight.unflatten(0, (heads, width)).transpose(0, 1).flatten(0, 1)
    bias = None if linear.bias is None else linear.bias.view(heads, width).t().flatten()
    return nn.functional.linear(x, weight, bias).unflatten(1, (width, heads)).transpose(1, 2)


def draw_seed(dropout: nn.Dropout) -> int:
    """A seed for dropout inside a kernel, from torch's generator; 0 where nothing is dropped."""
    if not dropout.training or dropout.p == 0:
        return 0
    return int(torch.randint(2**63 - 1, (), device="cpu"))


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


def named_score_norm(norm: str | nn.Module | None, named: dict[str, Callable[[], nn.Module]]) -> nn.Module | None:
    """A score norm given by name, as a module, or not at all."""
    if norm is None or isinstance(norm, nn.Module):
        return norm
    if norm not in named:
        raise unknown_name("score norm", norm, named)
    return named[norm]()


def layer_bound(attention: float, maps: torch.Tensor, residual: float) -> float:
    """L ‖W‖₂ + ‖W_res‖₂ from the bound L of every head's attention and the maps W of all heads, one below the other.

    ‖Δy‖² = Σ_h ‖Δy_h‖² ≤ L² Σ_h ‖W_h Δx‖² = L² ‖W Δx‖²: sharper than the sum over the norms of the heads.
    """
    # Without a bound on the attention there is none on the layer, even where the weights happen to be zero.
    return math.inf if math.isinf(attention) else attention * torch.linalg.matrix_norm(maps, 2).item() + residual


def certified_bound(graph: dgl.DGLGraph, norm: nn.Module | None) -> float:
    """Lipschitz constant of one head's attention on the whole graph, in the projected features.

        sqrt( max_j Σ_{i: j∈N(i)} L_i² ): a node feeds every neighbourhood that contains it.

    A node without a self-loop still acts on its own scores as target, so its own L_i² counts as well.
    Infinite where the norm certifies nothing.
    """
    if not hasattr(norm, "node_bound"):
        return math.inf
    if type(norm) not in (LipschitzNorm, DotProductLipschitzNorm):
        return _bound_on(graph, norm)
    # Their options, which `repr` spells out, are all that their bound depends on; of another's norm nobody knows.
    known, name = _certified(graph), repr(norm)
    if name not in known:
        known[name] = _bound_on(graph, norm)
    return known[name]


# By norm, once a graph: every layer of a deep network asks for the same.
_certified: PerGraph = PerGraph(lambda graph: {})


def _bound_on(graph: dgl.DGLGraph, norm: nn.Module) -> float:
    if graph.num_nodes() == 0:
        return 0.0
    degrees = graph.in_degrees().double()
    own = torch.where(degrees > 0, norm.node_bound(degrees.clamp(min=1)).square(), 0.0)  # (N,), L_i²
    fed = dgl.ops.copy_u_sum(dgl.reverse(graph), own)
    sources, targets = graph.edges()
    without_loop = torch.ones_like(own)
    without_loop[targets[sources == targets]] = 0.0
    total = fed + without_loop * own
    return math.sqrt(total.max().item()) + getattr(norm, "shared_bound", 0.0)
