"""The probabilities of edges: by sender, and by the edge before where walkers do not turn back."""

from __future__ import annotations

import torch

from lipgnn.errors import DataError
from lipgnn.walks.graph import WalkGraph
from lipgnn.walks.segments import segment_log_sum_exp, take


def log_choices(graph: WalkGraph, logits: torch.Tensor) -> torch.Tensor:
    """log p_e = logit_e − log Σ_{f: source(f) = source(e)} exp(logit_f): which edge a walker takes from a node.

    The softmax over the outgoing edges of the sender (Cordonnier & Loukas 2019, section 3).

    Parameters
    ----------
    logits : (E,)

    Returns
    -------
    (E,)
    """
    check_logits(graph, logits)
    return logits - take(segment_log_sum_exp(logits, graph.sources, graph.num_nodes), graph.sources)


def log_continuing(graph: WalkGraph, logits: torch.Tensor) -> torch.Tensor:
    """log Σ exp(logit_f) over the edges f that may follow edge e without turning back; −∞ where there are none.

    A walker on e goes on to f with probability exp(logit_f − log_continuing_e), which is p_f / Σ_{f'} p_f' of the
    choices by sender. It is exact also where turning back would have nearly all of their probability.

    Parameters
    ----------
    logits : (E,)

    Returns
    -------
    (E,)
    """
    check_logits(graph, logits)
    first, after = graph.continuations
    before = torch.arange(graph.num_edges, device=after.device).repeat_interleave(first.diff())
    return segment_log_sum_exp(take(logits, after), before, graph.num_edges)


def check_logits(graph: WalkGraph, logits: torch.Tensor) -> None:
    """Refuse logits that are not one number for every edge."""
    fits = logits.shape == (graph.num_edges,) and logits.dtype.is_floating_point
    if not fits or logits.device != graph.sources.device:
        raise DataError(
            f"logits must be ({graph.num_edges},) real numbers on {graph.sources.device}, one for every edge, and are "
            f"{tuple(logits.shape)} of {str(logits.dtype).removeprefix('torch.')} on {logits.device}."
        )
