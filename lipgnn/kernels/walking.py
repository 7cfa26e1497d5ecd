"""Walks by steps, many windows side by side: on the CPU, in one compiled pass for all of their steps."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import torch
from torch.autograd.function import FunctionCtx

from lipgnn.errors import DataError, UsageError
from lipgnn.kernels import native
from lipgnn.kernels.adjacency import EdgeOrder
from lipgnn.kernels.once import differentiable_once

_ONCE = UsageError("Compiled walks have no second derivatives, and one was asked for.", "Differentiate a walk once.")


@dataclass(frozen=True, eq=False)
class WalkOrder:
    """States and moves of all windows. Compiled code goes where it leads: make it by `checked`.

    Attributes
    ----------
    moves : those of every state; `other` is the state after.
    edge : (M,) int64, the edge whose logit speaks for a move.
    edges : how many edges there are.
    spans : (B, 3) int64, of every window its first state, the one behind its last, and how many steps it walks.
    """

    moves: EdgeOrder
    edge: torch.Tensor
    edges: int
    spans: torch.Tensor

    @classmethod
    def checked(
        cls,
        first: torch.Tensor,
        to: torch.Tensor,
        edge: torch.Tensor,
        edges: int,
        first_state: torch.Tensor,
        steps: torch.Tensor,
    ) -> WalkOrder:
        """An order of these moves, if none of them leaves its window.

        Parameters
        ----------
        first : (S + 1,), the moves of state s are first[s] to first[s + 1].
        to, edge : (M,), the state after a move, and its edge.
        edges : how many edges there are.
        first_state : (B + 1,), the states of window w are first_state[w] to first_state[w + 1].
        steps : (B,)

        Raises
        ------
        DataError : moves to states, edges or windows that are not there or not theirs.
        """
        states = len(first) - 1
        order = EdgeOrder.checked(first, to, torch.arange(len(to), device=to.device), states)
        if not (len(first_state) == len(steps) + 1 and _rises(first_state, states) and bool((steps >= 0).all())):
            raise DataError("The windows of a walk are not one behind the other, or have steps below 0.")
        windows = torch.arange(len(steps), device=to.device).repeat_interleave(first_state.diff())
        stay = bool((windows.repeat_interleave(first.diff()) == windows[to]).all())
        if not stay or len(edge) != len(to) or (len(edge) and not 0 <= int(edge.min()) <= int(edge.max()) < edges):
            raise DataError("A move of a walk leaves its window, or is of an edge that is not there.")
        spans = torch.stack([first_state[:-1], first_state[1:], steps], 1).contiguous()
        return cls(order, edge.contiguous(), edges, spans)


def walk_steps(order: WalkOrder, logits: torch.Tensor, start: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The mass in every state after the steps of its window; native/walk_steps.h has the formulas.

    Parameters
    ----------
    logits : (E,), one of the types of `native.FLOATS`.
    start : (S,)

    Returns
    -------
    (S,), and for every window (B,) whether mass came, before its last step, to a state without a move.
    """
    return _WalkSteps.apply(logits.contiguous(), start.contiguous(), order)


class _WalkSteps(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: FunctionCtx, logits: torch.Tensor, start: torch.Tensor, order: WalkOrder
    ) -> tuple[torch.Tensor, torch.Tensor]:
        ctx.save_for_backward(logits, start)
        ctx.order = order
        result, lost = torch.empty_like(start), order.spans.new_empty(len(order.spans))
        _run("forward", order, logits, start, result=result, lost=lost)
        ctx.mark_non_differentiable(lost)
        return result, lost

    @staticmethod
    @functools.partial(differentiable_once, refusal=_ONCE)
    def backward(ctx: FunctionCtx, grad: torch.Tensor, _: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        logits, start = ctx.saved_tensors
        grad_logits, grad_start = torch.zeros_like(logits), torch.empty_like(start)
        given = {"grad_result": grad.contiguous(), "grad_logits": grad_logits, "grad_start": grad_start}
        _run("backward", ctx.order, logits, start, **given)
        return grad_logits, grad_start, None


def _run(direction: str, order: WalkOrder, logits: torch.Tensor, start: torch.Tensor, **arrays: torch.Tensor) -> None:
    native.call(
        "walk_steps",
        direction,
        logits.dtype,
        order=order.moves,
        windows=len(order.spans),
        choices=order.edges,
        threads=torch.get_num_threads(),
        spans=order.spans,
        edge=order.edge,
        logits=logits,
        start=start,
        **arrays,
    )


def _rises(numbers: torch.Tensor, end: int) -> bool:
    """Whether they go from 0 to `end`, never down."""
    return int(numbers[0]) == 0 and int(numbers[-1]) == end and bool((numbers.diff() >= 0).all())
