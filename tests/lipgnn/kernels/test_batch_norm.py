"""BatchNorm and ReLU in one step: as torch computes them in two, statistics and derivatives of any order included."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from lipgnn.kernels import fused, implementation, rectified, rectifies
from lipgnn.norms import BatchNorm

pytestmark = pytest.mark.skipif(
    implementation("auto", torch.device("cpu")) is not fused, reason="the compiled kernel is not here"
)
TOLERANCE = {torch.float32: 2e-5, torch.float64: 1e-12}


def norm_of(width, dtype=torch.float64):
    norm, generator = nn.BatchNorm1d(width, dtype=dtype), torch.Generator().manual_seed(width)
    for tensor in (norm.weight, norm.bias, norm.running_mean, norm.running_var):
        tensor.data.copy_(torch.rand(width, generator=generator) + 0.3)
    return norm


def features(rows, width, dtype=torch.float64, *, offset=0.0):
    generator = torch.Generator().manual_seed(rows)
    return (offset + torch.randn(rows, width, dtype=torch.float64, generator=generator)).to(dtype)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("rows, width", [(2, 1), (9, 4), (128, 3), (129, 8), (1000, 64)])
def test_equals_torch_in_values_gradients_and_statistics(rows, width, dtype):
    x, grad = features(rows, width, dtype, offset=5), features(rows + 1, width, dtype)[1:]
    exact, ours = norm_of(width).train(), norm_of(width, dtype).train()
    results = []
    for _step in range(2):
        for norm, end in ((exact, lambda n, x: n(x).relu()), (ours, rectified)):
            leaves = x.to(norm.weight.dtype).requires_grad_(), norm.weight, norm.bias
            out = end(norm, leaves[0])
            results.append([out.detach(), *torch.autograd.grad(out, leaves, grad.to(out.dtype))])
    results += [list(exact.state_dict().values()), list(ours.state_dict().values())]
    for theirs, found in zip(results[::2], results[1::2], strict=True):
        for a, b in zip(theirs, found, strict=True):
            size = max(a.abs().max().item(), 1)
            torch.testing.assert_close(b.double(), a.double(), rtol=0, atol=TOLERANCE[dtype] * size)


def test_evaluation_is_by_the_running_statistics_and_changes_nothing():
    norm, x = norm_of(5).eval(), features(20, 5)
    before = copy.deepcopy(norm.state_dict())
    with torch.no_grad():
        torch.testing.assert_close(rectified(norm, x), norm(x).relu(), rtol=1e-13, atol=1e-13)
    assert all(map(torch.equal, norm.state_dict().values(), before.values()))


def test_digits_survive_a_mean_that_is_large():
    """A variance from a sum of squares would have none left; float32 has 3e4 in steps of 2e-3."""
    x = features(5000, 3, torch.float32, offset=3e4)
    exact = torch.nn.functional.batch_norm(x.double(), None, None, training=True).relu()
    torch.testing.assert_close(rectified(nn.BatchNorm1d(3), x).double(), exact, rtol=0, atol=2e-3)


def test_gradients_and_their_gradients_by_differences():
    norm, x = norm_of(3), features(7, 3).requires_grad_()

    def end(x, weight, bias):
        own = norm_of(3)
        del own.weight, own.bias
        own.weight, own.bias = weight, bias
        return rectified(own, x)

    inputs = x, norm.weight.detach().requires_grad_(), norm.bias.detach().requires_grad_()
    assert torch.autograd.gradcheck(end, inputs)
    assert torch.autograd.gradgradcheck(end, inputs)


def test_any_strides_any_number_of_threads_and_what_is_not_finite():
    x, before, found = features(1000, 6, torch.float32), torch.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            leaf = x.clone().requires_grad_()
            out = rectified(nn.BatchNorm1d(6), leaf)
            found.append((out.detach(), *torch.autograd.grad(out.square().sum(), leaf)))
    finally:
        torch.set_num_threads(before)
    for other in found[1:]:
        assert all(map(torch.equal, found[0], other))
    assert torch.equal(rectified(nn.BatchNorm1d(6), x.t().contiguous().t()), found[0][0])
    x[3, 2] = float("nan")
    assert rectified(nn.BatchNorm1d(6), x).isnan().any(0).tolist() == [False, False, True, False, False, False]


class TestWhereItIsUsed:
    def test_for_batch_norm_and_relu_by_the_fused_kernel(self):
        norm, x = BatchNorm(4), torch.ones(3, 4)
        assert rectifies(norm, nn.ReLU(), x, "auto")
        assert not rectifies(norm, nn.ReLU(), x, "dgl")
        assert not rectifies(norm, nn.ELU(), x, "auto")
        assert not rectifies(None, nn.ReLU(), x, "auto")
        assert not rectifies(nn.LayerNorm(4), nn.ReLU(), x, "auto")

    def test_not_for_one_row_which_torch_refuses_nor_for_another_type(self):
        assert not rectifies(BatchNorm(4), nn.ReLU(), torch.ones(1, 4), "auto")
        assert not rectifies(BatchNorm(4), nn.ReLU(), torch.ones(3, 4, dtype=torch.float64), "auto")
        assert not rectifies(BatchNorm(4).bfloat16(), nn.ReLU(), torch.ones(3, 4, dtype=torch.bfloat16), "auto")

    def test_in_evaluation_without_gradients_alone(self):
        norm = BatchNorm(4).eval()
        assert not rectifies(norm, nn.ReLU(), torch.ones(3, 4), "auto")
        with torch.no_grad():
            assert rectifies(norm, nn.ReLU(), torch.ones(3, 4), "auto")


def test_a_norm_that_computes_something_else_is_left_to_itself():
    """As one does whose statistics are of several workers."""

    class Other(nn.BatchNorm1d):
        pass

    norm, x = BatchNorm(3), torch.randn(5, 3)
    assert rectifies(norm, nn.ReLU(), x, "auto")
    norm.norm = Other(3)
    assert not rectifies(norm, nn.ReLU(), x, "auto")
