"""A second derivative that is not there is refused whichever way it is asked for, and never left out."""

from __future__ import annotations

import pytest
import torch

from lipgnn.errors import UsageError
from lipgnn.kernels.once import differentiable_once


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, unused):
        ctx.save_for_backward(x, unused)
        return x * x

    @staticmethod
    @differentiable_once
    def backward(ctx, grad):
        return 2 * ctx.saved_tensors[0] * grad, None


@pytest.mark.parametrize("loss", [torch.sum, lambda y: y.square().sum()], ids=["linear", "square"])
@pytest.mark.parametrize("skip", [0.0, 1.0])
def test_asking_twice_raises_even_where_something_flows_past(loss, skip):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (grad,) = torch.autograd.grad(loss(Square.apply(x, None) + skip * x.exp()), x, create_graph=True)
    with pytest.raises(UsageError, match="no second derivatives") as caught:
        torch.autograd.grad(grad.sum(), x)
    assert "kernel='dgl'" in caught.value.hint
    with pytest.raises(UsageError, match="no second derivatives"):
        grad.sum().backward()


def test_asking_once_does_not():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    for create_graph in (False, True):
        (grad,) = torch.autograd.grad(Square.apply(x, None).sum(), x, create_graph=create_graph)
        assert grad.tolist() == [2, 4] and grad.requires_grad == create_graph
    Square.apply(x, None).sum().backward()
    assert x.grad.tolist() == [2, 4]
