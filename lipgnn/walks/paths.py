"""How likely given paths are, edge by edge, and whether the edges taken were the best ones."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from lipgnn.errors import DataError, unknown_name
from lipgnn.walks.choices import check_logits
from lipgnn.walks.graph import KINDS, PLAIN, WalkGraph
from lipgnn.walks.segments import segment_log_sum_exp, segment_max, segment_sums, take


@dataclass(frozen=True)
class EdgePaths:
    """One path of edges for every window, as a list of decisions.

    Attributes
    ----------
    edges : (K,) int64, the edge taken in each decision.
    previous : (K,) int64, the edge taken before it, −1 for the first decision of a path.
    window : (K,) int64, the window of each decision.
    count : how many windows there are.
    """

    edges: torch.Tensor
    previous: torch.Tensor
    window: torch.Tensor
    count: int

    def sums(self, values: torch.Tensor) -> torch.Tensor:
        """The sum (B,) over the decisions of every window; of log-probabilities that is the path's log-likelihood."""
        return segment_sums(values, self.window, self.count)


def path_log_likelihood(graph: WalkGraph, logits: torch.Tensor, path: EdgePaths, kind: str) -> torch.Tensor:
    """The log-probability (K,) of every decision of given paths.

    Plain: log p_e. Without turning back ("nb"): log p_e for the first decision, then logit_f − log_continuing_e for f
    after e; an edge that none may follow is followed by itself with probability 1, as in `walk`. −∞ where an edge
    cannot come after the one before. Only the logits of edges that could have been taken instead are looked at, and
    no list of all continuations is made. (Cordonnier & Loukas 2019, section 3; Gretel's own loss is the plain one.)
    """
    place, option, stuck = _options(graph, logits, path, kind)
    total = segment_log_sum_exp(take(logits, option), place, len(path.edges))
    ahead = _may_follow(graph, path, kind, stuck)
    return torch.where(ahead, take(logits, path.edges) - total.where(ahead, 0), -torch.inf)


def choice_hits(graph: WalkGraph, logits: torch.Tensor, path: EdgePaths, kind: str) -> torch.Tensor:
    """The credit (K,) of every decision: 1/m where the edge taken is one of the m best options, else 0.

    That is the mean of what breaking ties at random gives. The options of the plain walk are all out-edges of the
    sender; without turning back ("nb") those that may follow the edge before. No gradient.
    """
    logits = logits.detach()
    place, option, stuck = _options(graph, logits, path, kind)
    count = len(path.edges)
    best = logits[option] == segment_max(logits[option], place, count)[place]
    taken = (option == path.edges[place]) & best
    hit = segment_sums(taken.to(logits.dtype), place, count)
    ties = segment_sums(best.to(logits.dtype), place, count).clamp(min=1)
    return (hit / ties).where(_may_follow(graph, path, kind, stuck), 0)


def _options(
    graph: WalkGraph, logits: torch.Tensor, path: EdgePaths, kind: str
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """(decision, edge) of all options, in the order of decisions, and which decisions (K,) have none but to stay."""
    if kind not in KINDS:
        raise unknown_name("walk", kind, KINDS)
    check_logits(graph, logits)
    _check(graph, path)
    # Index −1 gives the last edge, which is not used.
    later = path.previous >= 0
    avoid = graph.sources[path.previous] if kind != PLAIN and graph.num_edges else path.previous
    nodes = graph.sources[path.edges].where(~later, graph.targets[path.previous])
    place, option = graph.options(nodes, avoid.where(later & (kind != PLAIN), -1))
    found = torch.bincount(place, minlength=len(path.edges))
    stuck = later & (found == 0) & (kind != PLAIN)
    place = torch.cat([place, stuck.nonzero()[:, 0]])
    return place, torch.cat([option, path.previous[stuck]]), stuck


def _may_follow(graph: WalkGraph, path: EdgePaths, kind: str, stuck: torch.Tensor) -> torch.Tensor:
    """Whether every edge may come after the one before, (K,)."""
    joined = graph.targets[path.previous] == graph.sources[path.edges]
    if kind != PLAIN:
        joined &= graph.sources[path.previous] != graph.targets[path.edges]
        joined = joined.where(~stuck, path.edges == path.previous)
    return joined | (path.previous < 0)


def _check(graph: WalkGraph, path: EdgePaths) -> None:
    """Refuse numbers of edges and windows that there are not."""
    for name, numbers, least, count in (
        ("edges", path.edges, 0, graph.num_edges),
        ("previous", path.previous, -1, graph.num_edges),
        ("window", path.window, 0, path.count),
    ):
        if numbers.shape != path.edges.shape:
            raise DataError(f"A path has {len(path.edges)} edges, and {name} of {len(numbers)}.")
        if len(numbers) and not least <= int(numbers.min()) <= int(numbers.max()) < count:
            raise DataError(
                f"The {name} of a path must be numbers from {least} to {count - 1}, and go from "
                f"{int(numbers.min())} to {int(numbers.max())}."
            )
