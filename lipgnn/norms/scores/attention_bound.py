"""The certified bound of attention on a whole graph, from the bounds of its nodes."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

from lipgnn.norms.bound import Bound
from lipgnn.runtime import PerGraph, dgl


def attention_bound(
    graph: dgl.DGLGraph, node_bound: Callable[[torch.Tensor], torch.Tensor], shared: float = 0.0
) -> Bound:
    """The Lipschitz constant of one head's attention on the whole graph, in the projected features.

        sqrt( max_j Σ_{i: j∈N(i)} L_i² ) + shared: a node feeds every neighbourhood that contains it.

    A node without a self-loop still acts on its own scores as target, so its own L_i² counts as well.

    Parameters
    ----------
    node_bound : L_i of every node from the number of its in-edges, (N,) → (N,), each on its own.
    shared : the part of the bound that is common to all nodes.
    """
    if graph.num_nodes() == 0:
        return Bound(0.0)
    degrees, which, known = _of_graph(graph)
    of_degree = node_bound(degrees.clamp(min=1))
    name = tuple(of_degree.tolist())
    if name not in known:
        squares = torch.where(degrees > 0, of_degree.square(), 0.0)
        known[name] = math.sqrt(_largest_sum(graph, squares[which]))
    if math.isinf(known[name]):
        return Bound.unknown("the constant is more than a number can hold: use a larger --kappa")
    return Bound(known[name] + shared)


def exp_inverse(kappa: float) -> float:
    """e^{1/κ}, infinite where that is more than a number can hold."""
    try:
        return math.exp(1 / kappa)
    except OverflowError:
        return math.inf


def _in_degrees(graph: dgl.DGLGraph) -> tuple[torch.Tensor, torch.Tensor, dict[tuple[float, ...], float]]:
    """The in-degrees that occur, (K,), which of them is that of every node, (N,), and room for what is found."""
    degrees, which = graph.in_degrees().double().unique(return_inverse=True)
    return degrees, which, {}


# Once a graph: every layer of a deep network asks for the same.
_of_graph = PerGraph(_in_degrees)


def _largest_sum(graph: dgl.DGLGraph, own: torch.Tensor) -> float:
    """max_j Σ of L_i² (N,) over the nodes i that node j feeds, and itself."""
    fed = dgl.ops.copy_u_sum(dgl.reverse(graph), own)
    sources, targets = graph.edges()
    without_loop = own.clone()
    without_loop[targets[sources == targets]] = 0.0
    return (fed + without_loop).max().item()
