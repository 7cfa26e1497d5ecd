import pytest
import torch

from lipgnn.nn import DenseFeatures


@pytest.mark.parametrize("training", [True, False])
def test_features_are_as_they_are_whatever_their_form(training, reference):
    x = reference.normal(0, 7, 3) * (reference.normal(1, 7, 3) > 0)
    layer = DenseFeatures().train(training)
    for given in (x, x.to_sparse().coalesce()):
        found = layer(given)
        assert not found.is_sparse and torch.equal(found, x)
    assert not list(layer.parameters()) and not x.requires_grad


def test_they_ask_for_a_gradient_of_their_own_where_gradients_are_computed(reference):
    x, layer = reference.normal(0, 7, 3), DenseFeatures()
    found = layer(x)
    (3 * found).sum().backward()
    assert torch.equal(found.grad, torch.full_like(x, 3.0)) and x.grad is None
    with torch.no_grad():
        assert not layer(x).requires_grad


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_a_gradient_that_was_asked_for_before_still_comes(form, reference):
    x = reference.normal(0, 7, 3).requires_grad_()
    DenseFeatures()(x if form == "dense" else x.to_sparse()).sum().backward()
    assert torch.equal(x.grad, torch.ones_like(x))
