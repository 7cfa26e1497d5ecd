"""What depth does to features, gradients and attention, as numbers.

Every measurement is taken in float64 and stays a tensor of no dimension on the device of its input, so that a hook
need not wait for a GPU; where the input is not finite the number is not finite either, and nothing fails.
"""

from __future__ import annotations

import math

import torch

from lipgnn.errors import unknown_name
from lipgnn.norms.scores import nonzero, safe_length
from lipgnn.runtime import dgl

CENTERS = ("mean", "midrange", "median")

# Edges whose differences are held at once: on a large graph all of them are many times the features.
_PIECE = 2**13


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
    """Dirichlet energy and mean average distance at once.

    Of features in float32, from one product x_i·x_j an edge, which nothing as wide as the features is made for:
    ‖x_i − x_j‖² = ‖x_i‖² + ‖x_j‖² − 2 x_i·x_j in float64 is right to 1e-16 of the lengths, and float32 features
    themselves to 1e-14 of their squares.
    """
    if x.dtype == torch.float64:
        return dirichlet_energy(graph, x), mean_average_distance(graph, x)
    x = x.double()
    sources, targets = graph.edges()
    products = dgl.ops.u_dot_v(graph, x, x).flatten()  # (E,)
    squares = x.square().sum(dim=1)
    scale = graph.in_degrees().double().clamp(min=1).rsqrt()
    scaled = squares * scale.square()
    energies = (scaled[sources] + scaled[targets]) / 2 - products * scale[sources] * scale[targets]
    inverse = torch.where(squares > 0, squares, math.inf).rsqrt()
    cosines = products * inverse[sources] * inverse[targets]
    counted = (sources != targets) & (squares[sources] > 0) & (squares[targets] > 0)
    distances = torch.where(counted, (1 - cosines).clamp(min=0), 0.0)
    return energies.clamp(min=0).sum(), distances.sum() / counted.sum()


def _squared_differences(graph: dgl.DGLGraph, x: torch.Tensor) -> torch.Tensor:
    """‖x_i − x_j‖² of every edge, (E,)."""
    ends = zip(*(ends.split(_PIECE) for ends in graph.edges()), strict=True)
    return torch.cat([(x[targets] - x[sources]).square().sum(dim=1) for sources, targets in ends])


def singular_values(x: torch.Tensor) -> torch.Tensor:
    """Singular values of x (N, W), the largest first, in float64."""
    wide = x.double()
    # Decompositions refuse what is not finite; they wait for the device in any case.
    if not wide.isfinite().all():
        return torch.full_like(wide[: min(wide.shape), 0], math.nan)
    if x.dtype == torch.float64:
        return torch.linalg.svdvals(wide)
    # Squared in float64, singular values are right to 1e-7 of the largest: what float32 features have, many times
    # faster than by decomposing all rows.
    gram = wide.T @ wide if len(wide) >= wide.shape[1] else wide @ wide.T
    return torch.linalg.eigvalsh(gram).flip(0).clamp(min=0).sqrt()


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


def rank_one_residual(x: torch.Tensor, components: torch.Tensor) -> torch.Tensor:
    """‖res(X)‖_{1,∞} / ‖X‖_{1,∞}, from 0 (one row a component) to about 1; see `residual` and `composite_norm`.

    Reference: Dong, Cordonnier & Loukas, "Attention is Not All You Need: Pure Attention Loses Rank Doubly
    Exponentially with Depth", ICML 2021; the components are ours.
    """
    return composite_norm(residual(x, components)) / composite_norm(x)


def attention_entropy(graph: dgl.DGLGraph, weights: torch.Tensor) -> torch.Tensor:
    """Mean of H(α_i) / log n_i over heads and over nodes with two in-edges or more; weights are (E, H).

    1 is uniform, 0 is one neighbour alone. Not a number where every node has a single in-edge.
    """
    weights = weights.double()
    entropy = dgl.ops.copy_e_sum(graph, -torch.xlogy(weights, weights))  # (N, H)
    degrees = graph.in_degrees().double().unsqueeze(1)
    return _mean_of_several(degrees, entropy / degrees.clamp(min=2).log())


def saturated(graph: dgl.DGLGraph, weights: torch.Tensor, share: float = 0.99) -> torch.Tensor:
    """The share of pairs (node, head), of nodes with two in-edges or more, whose largest weight exceeds `share`.

    Weights are (E, H). Not a number where every node has a single in-edge.
    """
    weights = weights.double()
    # Nodes without in-edges have -inf here, and do not count.
    largest = dgl.ops.copy_e_max(graph, weights)  # (N, H)
    found = _mean_of_several(graph.in_degrees().unsqueeze(1), (largest > share).double())
    return torch.where(weights.isfinite().all(), found, math.nan)


def _mean_of_several(degrees: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """Mean of the values (N, H) over nodes whose degree (N, 1) is two or more."""
    several = (degrees > 1).expand_as(values)
    return torch.where(several, values, 0.0).sum() / several.sum()
