"""What depth does to features, gradients and attention, as numbers.

Every measurement is taken in float64 and stays a tensor of no dimension on the device of its input, so that a hook
need not wait for a GPU; where the input is not finite the number is not finite either, and nothing fails.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch

from lipgnn.errors import unknown_name
from lipgnn.kernels import fused
from lipgnn.kernels.row_measures import row_measures
from lipgnn.kernels.smoothness import smoothness as compiled_smoothness
from lipgnn.nn.spread import Spread
from lipgnn.norms.lengths import nonzero, safe_length
from lipgnn.runtime import PerGraph, dgl

CENTERS = ("mean", "midrange", "median")

# Edges whose differences are held at once: on a large graph all of them are many times the features.
_PIECE = 2**13
# Rows that are widened at once, so that they stay in a processor's cache.
_ROWS = 512


def length(x: torch.Tensor) -> torch.Tensor:
    """‖X‖_F."""
    return torch.linalg.vector_norm(x.double())


def similarity(x: torch.Tensor) -> torch.Tensor:
    """μ(X) = ‖X − 1·(1ᵀX / N)‖_F, the distance to the nearest matrix whose rows are all the same; x is (N, W).

    Small is similar. It is not free of scale: see it beside `length`.

    Reference: Wu et al., "Demystifying Oversmoothing in Attention-Based Graph Neural Networks", NeurIPS 2023.
    """
    x = x.double()
    return torch.linalg.vector_norm(x - x.mean(dim=0))


def dirichlet_energy(graph: dgl.DGLGraph, x: torch.Tensor) -> torch.Tensor:
    """½ Σ_{edges j→i} ‖x_i/√d_i − x_j/√d_j‖², where d counts in-edges; x is (N, W).

    On an undirected graph, whose edges are there in both directions, that is tr(Xᵀ(I − D^-½ A D^-½)X). A self-loop
    adds nothing but its count in d, which makes the Laplacian the augmented one of GCN.

    Reference: Cai & Wang, "A Note on Over-Smoothing for Graph Neural Networks", 2020.
    """
    degrees = graph.in_degrees().double().clamp(min=1)
    return _squared_differences(graph, x.double() * degrees.rsqrt().unsqueeze(1)).sum() / 2


def mean_average_distance(graph: dgl.DGLGraph, x: torch.Tensor) -> torch.Tensor:
    """Mean of 1 − cos(x_i, x_j) over edges; x is (N, W). Self-loops and rows of zeros say nothing and are left out.

    Every edge counts alike; Chen et al. take the mean of every node first. Not a number where no edge is left.

    Reference: Chen et al., "Measuring and Relieving the Over-Smoothing Problem for Graph Neural Networks from the
    Topological View", AAAI 2020.
    """
    x = x.double()
    lengths = safe_length(x)  # (N, 1)
    sources, targets = graph.edges()
    zero = lengths.flatten() == 0
    counted = (sources != targets) & ~zero[sources] & ~zero[targets]
    # For unit vectors 1 − cos is half the squared distance, which stays exact where rows have nearly become one.
    distances = _squared_differences(graph, x / nonzero(lengths)) / 2
    return torch.where(counted, distances, 0.0).sum() / counted.sum()


def smoothness(graph: dgl.DGLGraph, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Dirichlet energy and mean average distance at once: in one compiled pass where there is one."""
    if fused.obstacle(x.device):
        return dirichlet_energy(graph, x), mean_average_distance(graph, x)
    return compiled_smoothness(graph, x)


def _squared_differences(graph: dgl.DGLGraph, x: torch.Tensor) -> torch.Tensor:
    """‖x_i − x_j‖² of every edge, (E,)."""
    ends = zip(*(ends.split(_PIECE) for ends in graph.edges()), strict=True)
    return torch.cat([(x[targets] - x[sources]).square().sum(dim=1) for sources, targets in ends])


def singular_values(x: torch.Tensor) -> torch.Tensor:
    """Singular values of x (N, W), the largest first, in float64."""
    if x.dtype == torch.float64:
        return torch.linalg.svdvals(x) if x.isfinite().all() else _no_values(x)
    # Squared in float64, singular values are right to 1e-7 of the largest: what float32 features have, many times
    # faster than by decomposing all rows. A piece after the other, which is widened in the cache.
    least = min(x.shape)
    gram = torch.zeros(least, least, dtype=torch.float64, device=x.device)
    for piece in (x if len(x) >= x.shape[1] else x.T).split(_ROWS):
        wide = piece.double()
        gram.addmm_(wide.T, wide)
    # Decompositions refuse what is not finite; they wait for the device in any case.
    return torch.linalg.eigvalsh(gram).flip(0).clamp(min=0).sqrt() if gram.isfinite().all() else _no_values(x)


def _no_values(x: torch.Tensor) -> torch.Tensor:
    return torch.full((min(x.shape),), math.nan, dtype=torch.float64, device=x.device)


def effective_rank(values: torch.Tensor) -> torch.Tensor:
    """exp(−Σ p_k log p_k) with p = σ / Σσ, from singular values (K,): between one and K. Not a number if all are zero.

    Reference: Roy & Vetterli, "The Effective Rank", EUSIPCO 2007.
    """
    shares = values / values.sum()
    return torch.exp(-torch.xlogy(shares, shares).sum())


def numerical_rank(values: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """How many singular values of x (N, W) exceed σ_max · max(N, W) · ε, with ε of the type of x."""
    least = values.max() * max(x.shape) * torch.finfo(x.dtype).eps
    return torch.where(values.isfinite().all(), (values > least).sum().double(), math.nan)


def composite_norm(m: torch.Tensor) -> torch.Tensor:
    """sqrt(‖M‖_1 ‖M‖_∞): of the largest column sum and the largest row sum of |M|. Homogeneous, but not a norm."""
    size = m.double().abs()
    return size.sum(dim=0).max().sqrt() * size.sum(dim=1).max().sqrt()


def residual(x: torch.Tensor, components: torch.Tensor, center: str = "mean") -> torch.Tensor:
    """X − 1·cᵀ within every connected component: what keeps its rows from being one row.

    On a graph attention draws the rows of a component together and leaves components apart, so that around a common
    center the residual would never vanish.

    Parameters
    ----------
    x : (N, W).
    components : (N,), a number below N for every node, as `walk.components` gives.
    center : c of a component: "mean", "midrange" or "median" of every column.

    Returns
    -------
    (N, W), float64.
    """
    x = x.double()
    if center not in CENTERS:
        raise unknown_name("center", center, CENTERS)
    if center == "mean":
        # A row for every possible number, so that nobody has to wait for how many there are.
        sums = torch.zeros_like(x).index_add_(0, components, x)
        counts = torch.zeros_like(x[:, :1]).index_add_(0, components, torch.ones_like(x[:, :1]))
        return x - (sums / counts.clamp(min=1))[components]
    rest = torch.empty_like(x)
    for label in components.unique():
        members = components == label
        ordered = x[members].sort(dim=0).values
        last = len(ordered) - 1
        low, high = (0, last) if center == "midrange" else (last // 2, (last + 1) // 2)
        rest[members] = x[members] - (ordered[low] + ordered[high]) / 2
    return rest


class RowNorms(NamedTuple):
    """What the rows of a matrix M are like.

    Attributes
    ----------
    length, similarity : ‖M‖_F and μ(M).
    size, rest : ‖M‖_{1,∞}, and that of what is not one row a component; see `composite_norm` and `residual`.
    """

    length: torch.Tensor
    similarity: torch.Tensor
    size: torch.Tensor
    rest: torch.Tensor


def rows_of(x: torch.Tensor, components: torch.Tensor | None = None, less: torch.Tensor | None = None) -> RowNorms:
    """All four of x, or of x − less, at once: in two compiled passes where there are such.

    Without `components` all rows are one.
    """
    if not fused.obstacle(x.device):
        return RowNorms(*row_measures(x, components, less))
    wide = x.double() if less is None else x.double() - less
    rest = wide - wide.mean(dim=0) if components is None else residual(wide, components)
    return RowNorms(length(wide), similarity(wide), composite_norm(wide), composite_norm(rest))


def rank_one_residual(x: torch.Tensor, components: torch.Tensor) -> torch.Tensor:
    """‖res(X)‖_{1,∞} / ‖X‖_{1,∞}, from 0 (one row a component) to about 1; see `residual` and `composite_norm`.

    Reference: Dong, Cordonnier & Loukas, "Attention is Not All You Need: Pure Attention Loses Rank Doubly
    Exponentially with Depth", ICML 2021; the components are ours.
    """
    rows = rows_of(x, components)
    return rows.rest / rows.size


def attention_entropy(graph: dgl.DGLGraph, spread: Spread) -> torch.Tensor:
    """Mean of H(α_i) / log n_i over heads and over nodes with two in-edges or more.

    1 is uniform, 0 is one neighbour alone. Not a number where every node has a single in-edge.
    """
    nodes, logarithms = _with_several(graph)
    return (spread.entropy[nodes].double() / logarithms).mean()


def saturated(graph: dgl.DGLGraph, spread: Spread, share: float = 0.99) -> torch.Tensor:
    """The share of pairs (node, head), of nodes with two in-edges or more, whose largest weight exceeds `share`.

    Not a number where every node has a single in-edge.
    """
    nodes, _ = _with_several(graph)
    found = (spread.largest[nodes] > share).double().mean()
    return torch.where(spread.entropy.isfinite().all(), found, math.nan)


def _find_several(graph: dgl.DGLGraph) -> tuple[torch.Tensor, torch.Tensor]:
    """The nodes with two in-edges or more, (K,), and the logarithms of their in-degrees, (K, 1)."""
    degrees = graph.in_degrees()
    nodes = (degrees > 1).nonzero().flatten()
    return nodes, degrees[nodes].double().log().unsqueeze(1)


# Once a graph: every layer asks for the same, and on a GPU the answer has to be waited for.
_with_several = PerGraph(_find_several)
