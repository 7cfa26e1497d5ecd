"""Paths drawn at random, with their probabilities."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from lipgnn.errors import DataError, UsageError, unknown_name
from lipgnn.walks.choices import check_logits
from lipgnn.walks.graph import KINDS, PLAIN, WalkGraph
from lipgnn.walks.segments import segment_log_sum_exp, segment_max


@dataclass(frozen=True)
class Samples:
    """Paths that were drawn.

    Attributes
    ----------
    starts : (n,) the nodes they begin at.
    edges : (n, steps); where an edge that none may follow is followed by itself, the walker stays where it is.
    log_start : (n,) log-probability of the start.
    log_path : (n,) log-probability of the edges, given the start.
    """

    starts: torch.Tensor
    edges: torch.Tensor
    log_start: torch.Tensor
    log_path: torch.Tensor

    @property
    def log_probability(self) -> torch.Tensor:
        """(n,), of start and edges together."""
        return self.log_start + self.log_path


@torch.no_grad()
def sample_paths(
    graph: WalkGraph,
    logits: torch.Tensor,
    start: torch.Tensor,
    steps: int,
    samples: int,
    kind: str,
    generator: torch.Generator,
) -> Samples:
    """Draw paths of one window, with the probabilities that `walk` and `path_log_likelihood` compute with.

    The node that a path begins at is drawn by its mass, and each edge by the largest of logit_f + G_f over its options,
    with G_f independent of the Gumbel distribution: that is f with probability exp(logit_f) / Σ_f' exp(logit_f').

    Parameters
    ----------
    start : (N,), mass; it need not sum to 1.
    generator : on the device of the logits; all that is drawn comes from it.

    Raises
    ------
    DataError : no mass to begin with, or a walker at a node without an outgoing edge.
    """
    if kind not in KINDS:
        raise unknown_name("walk", kind, KINDS)
    check_logits(graph, logits)
    _check(graph, start, steps, samples)
    share = start.double() / start.double().sum()
    begins = torch.multinomial(share, samples, replacement=True, generator=generator)
    nodes, avoid, last = begins, torch.full_like(begins, -1), torch.full_like(begins, -1)
    taken, log_path = [], torch.zeros(samples, dtype=torch.float64, device=logits.device)
    for _ in range(steps):
        edge, log_probability = _draw(graph, logits.double(), nodes, avoid, last, generator)
        taken.append(edge)
        log_path += log_probability
        nodes, last = graph.targets[edge], edge
        avoid = avoid if kind == PLAIN else graph.sources[edge]
    edges = torch.stack(taken, 1) if taken else begins.new_zeros(samples, 0)
    return Samples(begins, edges, share[begins].log().to(logits.dtype), log_path.to(logits.dtype))


def _draw(
    graph: WalkGraph,
    logits: torch.Tensor,
    nodes: torch.Tensor,
    avoid: torch.Tensor,
    last: torch.Tensor,
    generator: torch.Generator,
) -> tuple[torch.Tensor, torch.Tensor]:
    """An edge for every walker, its last one where it must stay, and the log-probability of each choice."""
    count = len(nodes)
    place, option = graph.options(nodes, avoid)
    value = logits[option]
    uniform = torch.rand(len(option), dtype=value.dtype, device=value.device, generator=generator)
    key = value - torch.log(-torch.log(uniform))
    best = key == segment_max(key, place, count)[place]
    edge = last.clone()
    edge[place[best]] = option[best]
    closed = graph.by_sender[0].diff()[nodes] == 0
    if bool(closed.any()):
        raise DataError("A walker comes to a node without an outgoing edge.", "Give dead ends a self-loop.")
    chosen = logits[edge] - segment_log_sum_exp(value, place, count)
    moving = torch.bincount(place, minlength=count) > 0
    return edge, chosen.where(moving, 0)


def _check(graph: WalkGraph, start: torch.Tensor, steps: int, samples: int) -> None:
    if graph.num_windows != 1:
        raise UsageError(f"Paths are drawn for one window at a time, and there are {graph.num_windows}.")
    if steps < 0 or samples < 1:
        raise UsageError(f"There must be at least 0 steps and 1 sample, got {steps} and {samples}.")
    if start.shape != (graph.num_nodes,) or not bool((start >= 0).all()) or not 0 < float(start.sum()) < torch.inf:
        raise DataError(f"The start must be mass on {graph.num_nodes} nodes, at least 0 on each and more on one.")
