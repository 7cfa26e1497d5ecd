"""Where walkers are after so many steps: the plain walk, and the one that does not turn back."""

from __future__ import annotations

import torch

from lipgnn.errors import DataError, unknown_name
from lipgnn.kernels import native
from lipgnn.kernels.walking import walk_steps
from lipgnn.walks.choices import check_logits, log_choices
from lipgnn.walks.graph import KINDS, PLAIN, Moves, WalkGraph
from lipgnn.walks.segments import segment_softmax, segment_sums, take


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
    _check(graph, logits, start, kind)
    if kind == PLAIN:
        return _steps(graph, logits, start, kind)
    walking = int((graph.horizons > 0).sum())
    nodes = int((graph.node_window < walking).sum())
    _refuse_closed(graph.moves(PLAIN), start, nodes)
    edges = _steps(graph, logits, take(start, graph.sources) * log_choices(graph, logits).exp(), kind)
    arrived = segment_sums(edges, graph.targets, graph.num_nodes)
    return torch.cat([arrived[:nodes], start[nodes:]])


def _steps(graph: WalkGraph, logits: torch.Tensor, start: torch.Tensor, kind: str) -> torch.Tensor:
    """The states (S,) after all steps from state to state: compiled where it can be, else step by step."""
    if logits.is_cpu and logits.dtype in native.FLOATS and native.library()[0]:
        result, lost = walk_steps(graph.order(kind), logits, start)
        if bool(lost.any()):
            raise _no_way_on()
        return result
    return steps_by_torch(graph, logits, start, kind)


def steps_by_torch(graph: WalkGraph, logits: torch.Tensor, state: torch.Tensor, kind: str) -> torch.Tensor:
    """The states (S,) after all steps from state to state, in torch's operations, as the reference of what is compiled.

    In each step the first of all states and moves take part, those of windows that still walk.
    """
    moves = graph.moves(kind)
    weights = segment_softmax(take(logits, moves.edge), moves.origin, len(moves.first) - 1)
    for states, count in graph.walking(kind):
        _refuse_closed(moves, state, states)
        carried = take(state, moves.origin[:count]) * weights[:count]
        state = torch.cat([segment_sums(carried, moves.to[:count], states), state[states:]])
    return state


def _refuse_closed(moves: Moves, state: torch.Tensor, states: int) -> None:
    """Refuse mass that has still to walk where there is no way on."""
    closed = moves.closed[moves.closed < states]
    if bool((state.detach()[closed].abs() > 0).any()):
        raise _no_way_on()


def _no_way_on() -> DataError:
    return DataError(
        "A walker comes to a node without an outgoing edge before its last step.",
        "Give dead ends a self-loop, and cut graphs no closer than the horizon.",
    )


def _check(graph: WalkGraph, logits: torch.Tensor, start: torch.Tensor, kind: str) -> None:
    if kind not in KINDS:
        raise unknown_name("walk", kind, KINDS)
    check_logits(graph, logits)
    if start.shape != (graph.num_nodes,) or start.dtype != logits.dtype or start.device != logits.device:
        raise DataError(
            f"The start must be ({graph.num_nodes},) of {logits.dtype} on {logits.device}, mass for every node, and is "
            f"{tuple(start.shape)} of {start.dtype} on {start.device}."
        )
