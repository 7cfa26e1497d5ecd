"""Where walkers are after so many steps: the plain walk, and the one that does not turn back."""

from __future__ import annotations

import torch

from lipgnn.errors import DataError
from lipgnn.walks.choices import check_logits
from lipgnn.walks.graph import PLAIN, Moves, WalkGraph
from lipgnn.walks.segments import segment_softmax


def walk(graph: WalkGraph, logits: torch.Tensor, start: torch.Tensor, kind: str) -> torch.Tensor:
    """The mass on every node after as many steps as the horizon of its window says.

    Plain: s times x_v ← Σ_{e: target(e) = v} p_e x_source(e), with p the softmax of the logits by sender. Without
    turning back ("nb"): the first step brings y_e = p_e x_source(e) onto edges; s − 1 times
    y_f ← Σ_{e: f may follow e} y_e p_f / Σ_{f' may follow e} p_f', where edges that none may follow keep their mass;
    then x_v = Σ_{e: target(e) = v} y_e. Windows of horizon 0 keep their start. (Cordonnier & Loukas 2019, section 3.)

    Parameters
    ----------
    logits : (E,)
    start : (N,), mass of any sum.
    kind : "plain" or "nb".

    Returns
    -------
    (N,); gradients reach logits and start.

    Raises
    ------
    DataError : mass comes, before its last step, to a node without an edge to leave by.
    """
    moves = graph.moves(kind)
    check_logits(graph, logits)
    if start.shape != (graph.num_nodes,) or start.dtype != logits.dtype or start.device != logits.device:
        raise DataError(
            f"The start must be ({graph.num_nodes},) of {logits.dtype} on {logits.device}, mass for every node, and is "
            f"{tuple(start.shape)} of {start.dtype} on {start.device}."
        )
    sizes = graph.walking(kind)
    if not sizes:
        return start
    if kind == PLAIN:
        return _steps(moves, _weights(moves, logits), start, sizes)
    leaving = graph.moves(PLAIN)
    (nodes, _), edges = graph.walking(PLAIN)[0], sizes[0][0]
    _refuse_closed(leaving, start, nodes)
    first = start[graph.sources] * _weights(leaving, logits)[leaving.edge.argsort()]
    state = _steps(moves, _weights(moves, logits), first, sizes[1:])
    arrived = start.new_zeros(nodes).index_add(0, graph.targets[:edges], state[:edges])
    return torch.cat([arrived, start[nodes:]])


def _weights(moves: Moves, logits: torch.Tensor) -> torch.Tensor:
    """The probability of every move, (M,): the softmax over the moves of one state."""
    return segment_softmax(logits[moves.edge], moves.origin, len(moves.first) - 1)


def _steps(moves: Moves, weights: torch.Tensor, state: torch.Tensor, sizes: list[tuple[int, int]]) -> torch.Tensor:
    """The state (S,) after steps in each of which the first of all states and moves take part."""
    for states, count in sizes:
        _refuse_closed(moves, state, states)
        carried = state[moves.origin[:count]] * weights[:count]
        moved = state.new_zeros(states).index_add(0, moves.to[:count], carried)
        state = torch.cat([moved, state[states:]])
    return state


def _refuse_closed(moves: Moves, state: torch.Tensor, states: int) -> None:
    """Refuse mass that has still to walk where there is no way on."""
    closed = moves.closed[moves.closed < states]
    if len(closed) and bool((state.detach()[closed] != 0).any()):
        raise DataError(
            "A walker comes to a node without an outgoing edge before its last step.",
            "Give dead ends a self-loop, and cut graphs no closer than the horizon.",
        )
