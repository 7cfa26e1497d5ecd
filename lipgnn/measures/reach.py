"""How far a network looks: what share of a node's output comes from each distance, by exact Jacobian products.

    I(i, j) = ‖∂ logits_i / ∂ h_j‖_F,     share_i(d) = Σ_{dist(j→i) = d} I(i, j) / Σ_j I(i, j)

with h the output of the encoder and dist(j→i) the number of edges on a shortest way from j to i. Behind the encoder the
network is a function of one row a node, all of one width; at the features themselves the scale of every column, and how
sparse they are, would decide. They do where there is no encoder: h is then the features. What distances say is the mean
of share_i over targets i.

Reference: Xu et al., "Representation Learning on Graphs with Jumping Knowledge Networks", ICML 2018, definition 3.1,
where the influence is the sum of the block's absolute entries; its Frobenius norm, which no rotation of h changes, is
ours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from scipy import sparse
from scipy.sparse.csgraph import dijkstra

from lipgnn.measures.walk import adjacency
from lipgnn.runtime import dgl

if TYPE_CHECKING:
    from lipgnn.network.deep import DeepGNN
    from lipgnn.tasks.batches import Batch


@dataclass(frozen=True)
class Reach:
    """Shares by distance, means over targets.

    Attributes
    ----------
    targets : how many nodes' outputs were looked at; those that depend on nothing, or not in finite numbers, count for
        no share.
    shares : of the nodes at distance 0, 1 … as far as the network can look, which is L hops through L layers; not a
        number where no target has any.
    beyond : of the nodes that are farther, or from which no way leads to the target. Where every layer is local, zero.
    walk : the share of each distance among the ends of as many steps of the uniform walk against the edges, which is
        what as many layers of plain averaging would make of the same graph.
    nodes : how many nodes there are at each distance.
    """

    targets: int
    shares: tuple[float, ...]
    beyond: float
    walk: tuple[float, ...]
    nodes: tuple[float, ...]

    @property
    def mean_distance(self) -> float:
        """Σ_d d · share(d), of what is not beyond; not a number where nothing is."""
        return _mean_distance(self.shares)

    @property
    def walk_distance(self) -> float:
        """The same of the walk."""
        return _mean_distance(self.walk)


def look_far(network: DeepGNN, batch: Batch, targets: int) -> Reach:
    """The shares of all distances in the outputs of some items of a batch, drawn with a fixed seed.

    Each takes one way back for every class. It is that of the network in evaluation, which is left as it was.
    """
    training = network.training
    network.eval()
    h, logits = network.from_encoder(batch.graph, batch.features)
    candidates = batch.of_items(torch.arange(len(h), device=h.device))
    found = reach(batch.graph, h, logits, choose_targets(candidates, targets), network.hops)
    network.train(training)
    return found


def choose_targets(candidates: torch.Tensor, count: int, seed: int = 0) -> torch.Tensor:
    """So many of these nodes, each as likely as any other, or all if they are no more; the same for the same seed."""
    # RandomState's stream is frozen by numpy's compatibility policy.
    order = np.random.RandomState(seed).permutation(len(candidates))[:count]
    return candidates[torch.as_tensor(np.sort(order), device=candidates.device)]


def reach(graph: dgl.DGLGraph, h: torch.Tensor, logits: torch.Tensor, targets: torch.Tensor, hops: int) -> Reach:
    """How far the outputs of some nodes look, through a network that can look so many hops far.

    Parameters
    ----------
    h, logits : (N, W) and, computed from it with gradients kept, (N, C).
    targets : the nodes i, (T,).
    """
    influences = influence(h, logits, targets).cpu().numpy()
    into = adjacency(graph)
    nodes = targets.cpu().numpy()
    distances = dijkstra(into, indices=nodes, unweighted=True, limit=hops)  # (T, N), infinite beyond
    totals = influences.sum(axis=1)
    known = np.isfinite(totals) & (totals > 0)
    within = _by_distance(influences[known] / totals[known, None], distances[known], hops)
    walked = _by_distance(_walked(into, nodes, hops), distances, hops)
    counted = _by_distance(np.ones_like(distances), distances, hops)
    shares = _means(within)
    return Reach(len(nodes), shares[:-1], shares[-1], _means(walked)[:-1], _means(counted)[:-1])


def influence(h: torch.Tensor, logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """I(i, j) of every target i and all nodes j, (T, N) in float64: a product with the Jacobian a target and class."""
    squares = torch.zeros(len(targets), len(h), dtype=torch.float64, device=h.device)
    for row, target in enumerate(targets.tolist()):
        for logit in logits[target]:
            (gradient,) = torch.autograd.grad(logit, h, retain_graph=True)
            squares[row] += gradient.double().square().sum(dim=1)
    return squares.sqrt()


def _by_distance(weights: np.ndarray, distances: np.ndarray, hops: int) -> np.ndarray:
    """The sum of the weights at every distance up to L and, last, beyond; (T, N) → (T, L + 2)."""
    places = np.minimum(distances, hops + 1).astype(np.int64)
    rows = zip(places, weights, strict=True)
    sums = [np.bincount(place, weights=weight, minlength=hops + 2) for place, weight in rows]
    return np.array(sums).reshape(len(weights), hops + 2)


def _walked(into: sparse.csr_array, nodes: np.ndarray, steps: int) -> np.ndarray:
    """Where the uniform walk against the edges is after so many steps, from each of these nodes, (T, N)."""
    degrees = into.sum(axis=1)
    # A node without in-edges keeps what is there.
    inverse = np.divide(1, degrees, out=np.zeros_like(degrees), where=degrees > 0)
    steps_back = (sparse.diags_array(inverse) @ into + sparse.diags_array((degrees == 0) * 1.0)).T.tocsr()
    places = np.zeros((into.shape[0], len(nodes)))
    places[nodes, np.arange(len(nodes))] = 1
    for _ in range(steps):
        places = steps_back @ places
    return places.T


def _means(rows: np.ndarray) -> tuple[float, ...]:
    return tuple(rows.mean(axis=0).tolist()) if len(rows) else (math.nan,) * rows.shape[1]


def _mean_distance(shares: tuple[float, ...]) -> float:
    total = math.fsum(shares)
    return math.fsum(distance * share for distance, share in enumerate(shares)) / total if total else math.nan
