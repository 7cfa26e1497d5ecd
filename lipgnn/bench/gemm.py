"""The dense matrix products of a computation, taken down while it runs and computed again without the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from lipgnn.bench.compare import Step

_PRODUCTS = {
    torch.ops.aten.mm.default,
    torch.ops.aten.addmm.default,
    torch.ops.aten.bmm.default,
    torch.ops.aten.baddbmm.default,
}


class _Recorder(TorchDispatchMode):
    """Takes down every dense matrix product, forward and backward."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[Callable, tuple]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        # A product with sparse features is none of the layers'.
        if func in _PRODUCTS and not any(isinstance(a, torch.Tensor) and a.is_sparse for a in args):
            self.calls.append((func, tuple(_form(a) for a in args)))
        return func(*args, **(kwargs or {}))


def replay(computation: Step) -> tuple[Step, int]:
    """Run a computation once; returns a step that computes its dense matrix products alone, and how many.

    Operands of equal shape and order in memory are one array of random numbers.
    """
    with _Recorder() as recorder:
        computation()
    operands: dict[Any, Any] = {}
    calls = [(func, [_operand(form, operands) for form in forms]) for func, forms in recorder.calls]

    def step() -> None:
        for func, arguments in calls:
            func(*arguments)

    return step, len(calls)


def _form(argument: Any) -> Any:
    if not isinstance(argument, torch.Tensor):
        return argument
    return tuple(argument.shape), tuple(argument.stride()), argument.dtype


def _operand(form: Any, made: dict[Any, Any]) -> Any:
    if not isinstance(form, tuple):
        return form
    if form not in made:
        shape, stride, dtype = form
        made[form] = torch.empty_strided(shape, stride, dtype=dtype, device="cpu").normal_()
    return made[form]
