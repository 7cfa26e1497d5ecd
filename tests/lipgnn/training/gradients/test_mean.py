"""The weighted mean of all steps: the running form equals the sum."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from lipgnn.training.gradients.mean import WeightedMean


def walk(network, mean, steps, generator):
    """The weights after every step, in double precision."""
    seen = []
    for _ in range(steps):
        with torch.no_grad():
            for parameter in network.parameters():
                parameter.add_(torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype))
        mean.add()
        seen.append([parameter.detach().clone() for parameter in network.parameters()])
    return seen


@pytest.mark.parametrize("shift", [1.0, 7.5, 640.0])
def test_equals_the_explicit_mean_with_squared_weights(shift):
    network = nn.Linear(3, 2).double()
    mean = WeightedMean(network, shift)
    seen = walk(network, mean, 60, torch.Generator().manual_seed(0))
    weights = [(t + shift) ** 2 for t in range(60)]
    explicit = [
        sum(weight * step[place] for weight, step in zip(weights, seen, strict=True)) / sum(weights) for place in (0, 1)
    ]
    last = [parameter.detach().clone() for parameter in network.parameters()]
    with mean.in_place():
        for parameter, expected in zip(network.parameters(), explicit, strict=True):
            torch.testing.assert_close(parameter.data, expected, rtol=1e-12, atol=1e-12)
    assert all(torch.equal(now, then) for now, then in zip(network.parameters(), last, strict=True))


def test_the_weights_come_back_even_where_something_fails():
    network = nn.Linear(2, 1)
    mean = WeightedMean(network, 1.0)
    walk(network, mean, 3, torch.Generator().manual_seed(0))
    last = network.weight.detach().clone()
    with pytest.raises(ZeroDivisionError), mean.in_place():
        assert not torch.equal(network.weight, last)
        raise ZeroDivisionError
    assert torch.equal(network.weight, last)


def test_goes_on_from_what_was_saved():
    both = []
    for pause in (False, True):
        generator = torch.Generator().manual_seed(0)
        torch.manual_seed(1)
        network = nn.Linear(3, 2)
        mean = WeightedMean(network, 2.0)
        walk(network, mean, 5, generator)
        if pause:
            saved = {name: tensor.clone() for name, tensor in mean.tensors().items()}
            mean = WeightedMean(network, 2.0)
            mean.load(saved)
        walk(network, mean, 5, generator)
        both.append(mean.tensors())
    assert both[0].keys() == both[1].keys()
    assert all(torch.equal(both[0][name], both[1][name]) for name in both[0])
