"""The attention step on the CPU in one compiled kernel (native/), forward and backward.

Nothing with a row for every edge is ever made: scores and weights are recomputed in backward from a few values of every
node and head. Results do not depend on the number of threads.
"""

from __future__ import annotations

import torch

from lipgnn.kernels import native
from lipgnn.kernels.adjacency import Adjacency
from lipgnn.kernels.checks import (
    check_additive,
    check_dot_product,
    check_dynamic,
    check_numbers,
    check_shared_product,
)
from lipgnn.kernels.edge_types import TypedEdges
from lipgnn.kernels.native import VECTOR_HEADS
from lipgnn.kernels.step import Attend
from lipgnn.kernels.steps import AdditiveStep, DotProductStep, DynamicStep, SharedProductStep
from lipgnn.kernels.typed_step import TypedProductStep
from lipgnn.runtime import dgl

# The width from which vectors along the width are faster than along the heads (`lipgnn bench attention`).
_WIDE = 32


def obstacle(device: torch.device) -> str | None:
    """Why this kernel cannot be used on `device`; None if it can."""
    if device.type != "cpu":
        return f"the fused kernel is for the CPU and the device is {device.type}"
    return native.library()[1] or None


def heads_fastest(heads: int, width: int) -> bool:
    """Whether features are best laid out with the heads next to each other."""
    return heads in VECTOR_HEADS and width < _WIDE


def lanes(heads: int, width: int) -> int:
    """How many heads of several slices are best attended side by side; 0 where those of one slice do as well."""
    return max(VECTOR_HEADS) if heads != max(VECTOR_HEADS) and width < _WIDE else 0


def additive(
    graph: dgl.DGLGraph,
    z: torch.Tensor,
    attn_l: torch.Tensor,
    attn_r: torch.Tensor,
    *,
    kappa: float | None,
    negative_slope: float,
    dropout: float,
    seed: int,
    bias: torch.Tensor | None = None,
    target: torch.Tensor | None = None,
    edge_weight: torch.Tensor | None = None,
) -> torch.Tensor:
    """y_i = Σ_j w_ij α_ij z_j + b with α_ij = softmax_j LeakyReLU(norm(a_l·z_j + a_r·z_i)), as in `lipgnn.nn.GATConv`.

    Parameters
    ----------
    graph : of M targets; they are the N sources themselves, or others, as in a message-flow graph.
    z : (N, H, D), in memory with the heads or the width fastest.
    attn_l, attn_r : (1, H, D).
    kappa : κ of LipschitzNorm; None is no norm.
    negative_slope : of the LeakyReLU, at least 0.
    dropout, seed : on the attention weights; which are dropped depends on the seed, the edge and the head alone.
    bias : (H, D).
    target : (M, H, D), z_i of the targets where these are not the sources.
    edge_weight : (E,), w_ij; 1 without.

    Returns
    -------
    (M, H, D).

    Raises
    ------
    DataError : features that do not fit the graph or each other.
    UsageError : a type or number that cannot be computed with.
    """
    adjacency = Adjacency.of(graph)
    check_additive(adjacency, z, target, attn_l, attn_r, bias, edge_weight)
    check_numbers(kappa=kappa, dropout=dropout, negative_slope=negative_slope)
    settings = {"kappa": kappa, "slope": negative_slope, "dropout": dropout, "seed": seed}
    return Attend.apply(AdditiveStep, adjacency, settings, z, target, attn_l, attn_r, bias, edge_weight)


def dot_product(
    graph: dgl.DGLGraph,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    *,
    kappa: float | None,
    dropout: float,
    seed: int,
    edge_weight: torch.Tensor | None = None,
    codes: torch.Tensor | None = None,
) -> torch.Tensor:
    """y_i = Σ_j w_ij α_ij v_j with the scores q_i·k_j / √D, or those of `DotProductLipschitzNorm` per node.

    Parameters
    ----------
    query : (M, H, D), of the targets; in memory with the heads or the width fastest.
    key, value : (N, H, D), of the sources.
    kappa, dropout, seed, edge_weight : as for `additive`.
    codes : (T, H, D); that of an edge's type, in `graph.edata["edge_type"]`, is added to its key.

    Returns
    -------
    (M, H, D).

    Raises
    ------
    DataError : features or types of edges that do not fit the graph or each other.
    UsageError : a type or number that cannot be computed with.
    """
    adjacency = Adjacency.of(graph)
    check_dot_product(adjacency, query, key, value, edge_weight, codes)
    check_numbers(kappa=kappa, dropout=dropout)
    settings = {"kappa": kappa, "dropout": dropout, "seed": seed}
    if codes is None:
        return Attend.apply(DotProductStep, adjacency, settings, query, key, value, edge_weight)
    settings["edges"] = TypedEdges.of(graph, len(codes))
    return Attend.apply(TypedProductStep, adjacency, settings, query, key, value, edge_weight, codes)


def dynamic(
    graph: dgl.DGLGraph,
    key: torch.Tensor,
    query: torch.Tensor,
    attn: torch.Tensor,
    *,
    kappa: float | None,
    negative_slope: float,
    dropout: float,
    seed: int,
    bias: torch.Tensor | None = None,
    edge_weight: torch.Tensor | None = None,
) -> torch.Tensor:
    """y_i = Σ_j w_ij α_ij (k_j + b) with α_ij = softmax_j norm(a·LeakyReLU(k_j + q_i)), as in `lipgnn.nn.GATv2Conv`.

    Parameters
    ----------
    key : (N, H, D), of the sources; in memory with the heads or the width fastest.
    query : (M, H, D), of the targets.
    attn : (1, H, D).
    kappa : κ of DynamicLipschitzNorm; None is no norm.
    bias : (H, D), of the values alone.
    negative_slope, dropout, seed, edge_weight : as for `additive`.

    Returns
    -------
    (M, H, D).

    Raises
    ------
    DataError : features that do not fit the graph or each other.
    UsageError : a type or number that cannot be computed with.
    """
    adjacency = Adjacency.of(graph)
    check_dynamic(adjacency, key, query, attn, bias, edge_weight)
    check_numbers(kappa=kappa, dropout=dropout, negative_slope=negative_slope)
    settings = {"kappa": kappa, "slope": negative_slope, "dropout": dropout, "seed": seed}
    return Attend.apply(DynamicStep, adjacency, settings, key, query, attn, bias, edge_weight)


def shared_product(
    graph: dgl.DGLGraph,
    query: torch.Tensor,
    key: torch.Tensor,
    mixing: torch.Tensor,
    value: torch.Tensor,
    *,
    scale: float,
    kappa: float | None,
    dropout: float,
    seed: int,
    edge_weight: torch.Tensor | None = None,
) -> torch.Tensor:
    """y_i = Σ_j w_ij α_ij v_j with the scores s Σ_r m_hr q_ir k_jr, or those of `DotProductLipschitzNorm` per node.

    Parameters
    ----------
    query : (M, D̃), of the targets, for all heads.
    key : (N, D̃), of the sources, for all heads.
    mixing : m_h of every head, (H, D̃).
    value : (N, H, D), of the sources; in memory with the heads or the width fastest.
    scale : s, of scores without the norm.
    kappa, dropout, seed, edge_weight : as for `additive`.

    Returns
    -------
    (M, H, D).

    Raises
    ------
    DataError : features that do not fit the graph or each other.
    UsageError : a type or number that cannot be computed with.
    """
    adjacency = Adjacency.of(graph)
    check_shared_product(adjacency, query, key, mixing, value, edge_weight)
    check_numbers(kappa=kappa, dropout=dropout)
    settings = {"kappa": kappa, "scale": scale, "dropout": dropout, "seed": seed}
    return Attend.apply(SharedProductStep, adjacency, settings, query, key, mixing, value, edge_weight)


def additive_spread(
    graph: dgl.DGLGraph,
    z: torch.Tensor,
    attn_l: torch.Tensor,
    attn_r: torch.Tensor,
    *,
    kappa: float | None,
    negative_slope: float,
    target: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Entropy −Σ_j α_ij log α_ij and largest weight max_j α_ij of the attention of `additive`, both (M, H)."""
    adjacency = Adjacency.of(graph)
    check_additive(adjacency, z, target, attn_l, attn_r, None, None)
    check_numbers(kappa=kappa, negative_slope=negative_slope)
    return AdditiveStep(
        adjacency, z, target, attn_l, attn_r, None, None, kappa=kappa, slope=negative_slope, dropout=0.0, seed=0
    ).spread()


def dot_product_spread(
    graph: dgl.DGLGraph,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    *,
    kappa: float | None,
    codes: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The same of the attention of `dot_product`."""
    adjacency = Adjacency.of(graph)
    check_dot_product(adjacency, query, key, value, None, codes)
    check_numbers(kappa=kappa)
    settings = {"kappa": kappa, "dropout": 0.0, "seed": 0}
    if codes is None:
        return DotProductStep(adjacency, query, key, value, None, **settings).spread()
    settings["edges"] = TypedEdges.of(graph, len(codes))
    return TypedProductStep(adjacency, query, key, value, None, codes, **settings).spread()


def dynamic_spread(
    graph: dgl.DGLGraph,
    key: torch.Tensor,
    query: torch.Tensor,
    attn: torch.Tensor,
    *,
    kappa: float | None,
    negative_slope: float,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The same of the attention of `dynamic`."""
    adjacency = Adjacency.of(graph)
    check_dynamic(adjacency, key, query, attn)
    check_numbers(kappa=kappa, negative_slope=negative_slope)
    return DynamicStep(
        adjacency, key, query, attn, None, None, kappa=kappa, slope=negative_slope, dropout=0.0, seed=0
    ).spread()


def shared_product_spread(
    graph: dgl.DGLGraph,
    query: torch.Tensor,
    key: torch.Tensor,
    mixing: torch.Tensor,
    value: torch.Tensor,
    *,
    scale: float,
    kappa: float | None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The same of the attention of `shared_product`."""
    adjacency = Adjacency.of(graph)
    check_shared_product(adjacency, query, key, mixing, value)
    check_numbers(kappa=kappa)
    numbers = {"kappa": kappa, "scale": scale, "dropout": 0.0, "seed": 0}
    return SharedProductStep(adjacency, query, key, mixing, value, None, **numbers).spread()
