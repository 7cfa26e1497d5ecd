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

Product = tuple[Callable, list[Any]]


class _Products(TorchDispatchMode):
    """Takes down every dense matrix product, forward and backward.

    Operands of equal shape and order in memory become one array of random numbers.
    """

    def __init__(self) -> None:
        super().__init__()
        self.found: list[Product] = []
        self._operands: dict[Any, torch.Tensor] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        # A product with sparse features is none of the layers'.
        if func in _PRODUCTS and not any(isinstance(a, torch.Tensor) and a.is_sparse for a in args):
            self.found.append((func, [self._operand(a) for a in args]))
        return func(*args, **(kwargs or {}))

    def _operand(self, argument: Any) -> Any:
        if not isinstance(argument, torch.Tensor):
            return argument
        form = tuple(argument.shape), argument.stride(), argument.dtype
        if form not in self._operands:
            self._operands[form] = torch.empty_strided(*form[:2], dtype=form[2], device="cpu").normal_()
        return self._operands[form]


def products(computation: Step) -> list[Product]:
    """Run a computation once; returns its dense matrix products in order."""
    with _Products() as taken:
        computation()
    return taken.found


def replay(calls: list[Product]) -> Step:
    """A step that computes these matrix products and nothing else."""

    def step() -> None:
        for func, operands in calls:
            func(*operands)

    return step
