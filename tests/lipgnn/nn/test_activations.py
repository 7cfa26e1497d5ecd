"""Activations: as steep as is said, and no bound for those of which nothing is known."""

import pytest
import torch
from torch import nn

from lipgnn import catalog
from lipgnn.nn.activations import ACTIVATIONS, largest_slope


def test_the_activations_are_those_of_the_catalog():
    assert tuple(ACTIVATIONS) == catalog.ACTIVATIONS


@pytest.mark.parametrize(
    "activation",
    [*(make() for make in ACTIVATIONS.values()), nn.ELU(alpha=3.0), nn.LeakyReLU(2.0), nn.LeakyReLU(-1.5)],
    ids=repr,
)
def test_no_slope_is_larger_than_is_said_and_some_is_as_large(activation):
    x = torch.linspace(-6, 6, 100_001, dtype=torch.float64, requires_grad=True)
    activation(x).sum().backward()
    # The slope of ELU at zero, where it is steepest, is met up to the width of a step.
    assert largest_slope(activation).value == pytest.approx(x.grad.abs().max().item(), rel=1e-3)
    assert largest_slope(activation).value >= x.grad.abs().max().item() * (1 - 1e-8)


def test_gelu_is_steepest_where_it_is_said_to_be():
    x = torch.linspace(-6, 6, 100_001, dtype=torch.float64, requires_grad=True)
    nn.functional.gelu(x).sum().backward()
    assert x.grad.abs().max().item() == pytest.approx(largest_slope(nn.GELU()).value, rel=1e-8)


@pytest.mark.parametrize("unknown, name", [(nn.Hardshrink(), "Hardshrink"), (torch.tanh, "tanh")])
def test_of_another_activation_nothing_is_known(unknown, name):
    assert f"activation {name} is not known" in largest_slope(unknown).reason


def test_no_activation_stretches_nothing():
    assert largest_slope(None).value == 1.0
