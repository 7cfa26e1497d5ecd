"""What came of the windows of a batch: how likely their true paths and targets are, a row of numbers each.

References: Cordonnier & Loukas, "Extrapolating paths with graph neural networks", IJCAI 2019, and their code.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from lipgnn.walks.best import best_nodes, hits
from lipgnn.walks.graph import NON_BACKTRACKING, PLAIN, WalkGraph
from lipgnn.walks.mass import walk
from lipgnn.walks.paths import EdgePaths, choice_hits, path_log_likelihood

OUTCOMES = (
    *("loss", "nll", "nll_deg3", "hits", "decisions", "hits_deg3", "decisions_deg3"),
    *("target_probability", "top1", "top5", "horizon"),
)
"""The columns of `outcomes`: the loss; the negative log-likelihood of the true path, its edges that had the largest
probability and its edges, each also of first edges and of nodes with more than two out-edges alone; the probability of
the target's nodes; whether the most probable node, or one of five, is among them; and the steps of the walk."""

LEAST = -30.0
"""A logarithm of a probability is not taken to be lower: what the walk makes impossible would be −∞."""


@dataclass(frozen=True, eq=False)
class Scene:
    """The windows of a batch, laid side by side, with what is true of them.

    Attributes
    ----------
    graph : what is walked on; its nodes are pairs (window, node).
    path : the true edges.
    start : (P,) mass, of the observation that walkers start from.
    target : (P,) weights, of the observation that they should come to.
    branching : (K,) bool, the decisions of `path` that are first ones or at nodes with more than two out-edges.
    nodes : (P,), the node of the whole graph that every pair is of.
    """

    graph: WalkGraph
    path: EdgePaths
    start: torch.Tensor
    target: torch.Tensor
    branching: torch.Tensor
    nodes: torch.Tensor


def loss_of(scene: Scene, logits: torch.Tensor, loss: str, kind: str) -> torch.Tensor:
    """What training makes small, (B,).

    nll     −Σ_e log p_e over the edges of the true path, by all out-edges of each sender, whatever the walk
    nll-nb  the same by the edges that may follow the one before
    target  −log Σ_v x_v φ_v, with x what the walk comes to and φ the weights of the target
    """
    if loss == "target":
        met = walk(scene.graph, logits, scene.start, kind) * scene.target
        mass = met.new_zeros(scene.graph.num_windows).index_add(0, scene.graph.node_window, met)
        return -mass.clamp(min=torch.finfo(mass.dtype).tiny).log().clamp(min=LEAST)
    decisions = path_log_likelihood(scene.graph, logits, scene.path, NON_BACKTRACKING if loss == "nll-nb" else PLAIN)
    return -scene.path.sums(decisions.clamp(min=LEAST))


@torch.no_grad()
def outcomes(scene: Scene, logits: torch.Tensor, loss: str, kind: str) -> torch.Tensor:
    """A row of OUTCOMES for every window, (B, M); the graph must have all that walkers can reach.

    Parameters
    ----------
    loss, kind : of training, and of the walk.
    """
    graph, path = scene.graph, scene.path
    decisions = path_log_likelihood(graph, logits, path, kind).clamp(min=LEAST)
    credit = choice_hits(graph, logits, path, kind)
    one = torch.ones_like(credit)
    branching = scene.branching.to(credit.dtype)
    mass = walk(graph, logits, scene.start, kind)
    support = scene.target > 0
    on_target = mass.new_zeros(graph.num_windows).index_add(0, graph.node_window[support], mass[support])
    columns = [
        loss_of(scene, logits, loss, kind),
        *(-path.sums(decisions * share) for share in (one, branching)),
        *(path.sums(value * share) for share in (one, branching) for value in (credit, one)),
        on_target,
        *(hits(best_nodes(graph, mass, k), support).to(mass.dtype) for k in (1, 5)),
        graph.horizons.to(mass.dtype),
    ]
    return torch.stack(columns, dim=1)


def measures_of(rows: torch.Tensor) -> dict[str, float]:
    """The measures of some windows, by names of `lipgnn.catalog.PATH_MEASURES`, from their OUTCOMES (B, M).

    Means over windows; of choices, the share of all decisions.
    """
    total = dict(zip(OUTCOMES, rows.double().sum(dim=0).tolist(), strict=True))
    count = max(len(rows), 1)
    return {
        "target_probability": total["target_probability"] / count,
        "precision_top1": total["top1"] / count,
        "precision_top5": total["top5"] / count,
        "choice_accuracy": total["hits"] / total["decisions"],
        "choice_accuracy_deg3": total["hits_deg3"] / total["decisions_deg3"],
        "path_nll": total["nll"] / count,
        "path_nll_deg3": total["nll_deg3"] / count,
    }
