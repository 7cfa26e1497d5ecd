"""A linear map of features that are mostly zero: as the dense one, with dropout on what is stored."""

from __future__ import annotations

import pytest
import torch

from lipgnn.nn import FeatureLinear


def sparse_features(reference) -> torch.Tensor:
    """(7, 3), about half zeros, one row all zero."""
    x = reference.normal(5, 7, 3)
    x[reference.normal(6, 7, 3) > 0] = 0
    x[3] = 0
    return x


@pytest.mark.parametrize("kernel", ["auto", "dgl"])
def test_sparse_features_give_the_values_and_gradients_of_dense_ones(reference, kernel):
    x = sparse_features(reference)
    results = []
    for features in (x, x.to_sparse().coalesce()):
        linear = reference.redraw(FeatureLinear(3, 4, 0.0, kernel), seed=1)
        out = linear(features)
        out.square().sum().backward()
        results.append((out, linear.weight.grad, linear.bias.grad))
    torch.testing.assert_close(*results, atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_dropout_on_features_keeps_zeros_and_scales_what_is_left(form):
    linear = FeatureLinear(40, 40, dropout=0.4)
    with torch.no_grad():
        linear.weight.copy_(torch.eye(40))
        linear.bias.zero_()
    torch.manual_seed(0)
    x = torch.rand(100, 40) + 1
    x[torch.rand(100, 40) < 0.5] = 0
    features = x if form == "dense" else x.to_sparse().coalesce()
    dropped = linear(features).detach()
    kept = dropped != 0
    torch.testing.assert_close(dropped[kept], x[kept] / 0.6)
    assert not (kept & (x == 0)).any()
    share = kept.sum() / (x != 0).sum()
    assert abs(share - 0.6) < 0.05  # about four standard deviations of 2000 draws
    torch.testing.assert_close(linear.eval()(features), x)


def test_dropout_leaves_the_sparse_features_themselves_alone(reference):
    x = sparse_features(reference).to_sparse().coalesce()
    before = x.values().clone()
    FeatureLinear(3, 4, dropout=0.5).double()(x)
    assert torch.equal(x.values(), before)


@pytest.fixture
def meta_device():
    """Torch's default device set to one that holds no data, so that a tensor created without a device fails."""
    yield lambda: torch.set_default_device("meta")
    torch.set_default_device(None)


def test_sparse_features_stay_on_their_device(reference, meta_device):
    x, linear = sparse_features(reference).to_sparse().coalesce(), FeatureLinear(3, 4, dropout=0.1).double()
    meta_device()
    out = linear(x)
    out.sum().backward()
    assert out.device.type == "cpu" and linear.weight.grad.isfinite().all()
