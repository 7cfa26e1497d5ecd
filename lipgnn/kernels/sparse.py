"""A linear map of sparse features, in one compiled pass; bags of words are 99 % zeros."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch.autograd.function import FunctionCtx
from torch.utils.weak import WeakTensorKeyDictionary

from lipgnn.errors import DataError
from lipgnn.kernels import native
from lipgnn.kernels.adjacency import EdgeOrder
from lipgnn.kernels.once import differentiable_once


@dataclass(frozen=True)
class _Orders:
    """The entries of a sparse matrix by row and by column; `edge_id` is the place of an entry's value."""

    rows: EdgeOrder
    columns: EdgeOrder


_made = WeakTensorKeyDictionary()


def sparse_linear(x: torch.Tensor, values: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """x Wᵀ + b on the CPU.

    Parameters
    ----------
    x : (N, F), coalesced sparse COO; where its entries are is found out once.
    values : those of its entries, which may be other ones each time (dropout).
    weight, bias : (C, F) and (C,).

    Returns
    -------
    (N, C); gradients reach weight and bias alone.

    Raises
    ------
    DataError : arrays that do not fit each other, or entries outside of x.
    """
    if x not in _made:
        _made[x] = _orders_of(x)
    shapes = tuple(values.shape), tuple(weight.shape), tuple(bias.shape)
    entries, features = len(_made[x].rows.other), x.shape[1]
    outputs = len(weight) if weight.dim() else 0
    if shapes != ((entries,), (outputs, features), (outputs,)) or not values.dtype == weight.dtype == bias.dtype:
        raise DataError(
            f"x has {features} columns and {entries} entries, and values, weight and bias are {shapes[0]}, {shapes[1]} "
            f"and {shapes[2]} of {values.dtype}, {weight.dtype} and {bias.dtype}.",
            "Give a value for every entry and a weight for every column, all of one type.",
        )
    return _SparseLinear.apply(values, weight, bias, _made[x])


def _orders_of(x: torch.Tensor) -> _Orders:
    if not (x.is_sparse and x.dim() == 2 and x.is_coalesced()):
        raise DataError("Sparse features must be a coalesced sparse COO matrix.", "Call x.coalesce().")
    row, column = x.indices()
    # What torch may have been told not to check.
    if row.numel() and (row.min() < 0 or row.max() >= x.shape[0] or column.min() < 0 or (row.diff() < 0).any()):
        raise DataError("Sparse features have entries outside of their rows, or rows out of order.", "Make them anew.")
    # Coalesced entries are in the order of their rows.
    by_column = torch.argsort(column, stable=True)
    places = torch.arange(len(row), device=x.device)
    return _Orders(
        _order(row, column, places, *x.shape),
        _order(column[by_column], row[by_column], by_column, x.shape[1], x.shape[0]),
    )


def _order(ends: torch.Tensor, other: torch.Tensor, places: torch.Tensor, size: int, others: int) -> EdgeOrder:
    start = torch.cat([ends.new_zeros(1), torch.bincount(ends, minlength=size).cumsum(0)])
    return EdgeOrder.checked(start, other, places, others)


class _SparseLinear(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: FunctionCtx, values: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, orders: _Orders
    ) -> torch.Tensor:
        values = values.contiguous()
        ctx.save_for_backward(values)
        ctx.orders = orders
        return _product(orders.rows, values, weight.t().contiguous(), bias=bias.contiguous())

    @staticmethod
    @differentiable_once
    def backward(ctx: FunctionCtx, grad_out: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        (values,) = ctx.saved_tensors
        grad_weight = _product(ctx.orders.columns, values, grad_out.contiguous()).t().contiguous()
        return None, grad_weight, grad_out.sum(0), None


def _product(order: EdgeOrder, values: torch.Tensor, dense: torch.Tensor, **bias: torch.Tensor) -> torch.Tensor:
    result = dense.new_empty(len(order.start) - 1, dense.shape[1])
    native.call(
        "sparse_product",
        "forward",
        dense.dtype,
        order=order,
        width=dense.shape[1],
        threads=torch.get_num_threads(),
        values=values,
        dense=dense,
        result=result,
        **bias,
    )
    return result
