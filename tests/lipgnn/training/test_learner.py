"""What changes the weights of a run from step to step, beside references written out here."""

from __future__ import annotations

import math

import pytest
import torch
from networks import bare
from torch import nn

from lipgnn.spec.run import RunSpec
from lipgnn.training.learner import Learner

PLAIN = {"layer_weight_decay": "same", "weight_decay": 0.0}


def learner_of(network, **options):
    return Learner(network, RunSpec(**{**PLAIN, **options}), higher_is_better=True)


def take(learner, network, steps):
    for t in range(steps):
        learner.begin_step()
        generator = torch.Generator().manual_seed(t)
        for parameter in network.parameters():
            parameter.grad = torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype)
        learner.end_backward()
        learner.step()


def linear():
    torch.manual_seed(0)
    return nn.Linear(5, 4).double()


def test_sgd_is_plain_and_its_penalty_is_part_of_the_gradient():
    network, twin = linear(), linear()
    take(learner_of(network, optimizer="sgd", lr=0.3, weight_decay=0.1), network, 4)
    for t in range(4):
        generator = torch.Generator().manual_seed(t)
        for parameter in twin.parameters():
            gradient = torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype)
            parameter.data -= 0.3 * (gradient + 0.1 * parameter.data)
    torch.testing.assert_close(network.weight, twin.weight, rtol=1e-12, atol=0)


def test_memsgd_is_sparse_steps_and_a_weighted_mean_of_them():
    """Against the algorithm written out: x ← x − top₂(m + η g), with the penalty in g and η = lr · a/(a + t)."""
    network, twin = linear(), linear()
    options = {"optimizer": "memsgd", "compress": "topk:2", "schedule": "inverse", "shift": 3.0, "lr": 0.5}
    learner = learner_of(network, **options, weight_decay=0.1)
    x = torch.cat([parameter.detach().reshape(-1) for parameter in twin.parameters()])
    memory, mean, total = torch.zeros_like(x), torch.zeros_like(x), 0.0
    for t in range(12):
        generator = torch.Generator().manual_seed(t)
        drawn = [torch.randn(p.shape, generator=generator, dtype=p.dtype).reshape(-1) for p in twin.parameters()]
        asked = memory + 0.5 * 3 / (3 + t) * (torch.cat(drawn) + 0.1 * x)
        sent = torch.where(asked.abs() >= asked.abs().sort().values[-2], asked, torch.zeros_like(asked))
        x, memory = x - sent, asked - sent
        mean, total = mean + (t + 3) ** 2 * x, total + (t + 3) ** 2
    take(learner, network, 12)
    found = torch.cat([parameter.detach().reshape(-1) for parameter in network.parameters()])
    torch.testing.assert_close(found, x, rtol=1e-10, atol=1e-12)
    with learner.evaluated():
        found = torch.cat([parameter.detach().reshape(-1) for parameter in network.parameters()])
    torch.testing.assert_close(found, mean / total, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("options", "shift"), [({}, 1.0), ({"compress": "topk:2"}, 12.0), ({"shift": 5.0}, 5.0)])
def test_the_rate_falls_by_steps_and_not_by_epochs(options, shift):
    network = linear()
    learner = learner_of(network, optimizer="memsgd", schedule="inverse", lr=0.5, **options)
    rates = []
    for _ in range(4):
        rates.append(learner.rate)
        take(learner, network, 1)
        learner.end_epoch({"val_loss": 1.0})
    assert rates == pytest.approx([0.5 * shift / (shift + t) for t in range(4)])


def test_a_schedule_of_epochs_goes_by_epochs():
    network = linear()
    learner = learner_of(network, schedule="cosine", epochs=4, lr=1.0)
    take(learner, network, 3)
    assert learner.rate == 1.0
    learner.end_epoch(None)
    assert learner.rate == pytest.approx((1 + math.cos(math.pi / 4)) / 2)


def test_the_penalty_is_half_the_squares_of_all_weights_each_by_its_own():
    network = bare(4, 3, layers=2, hidden=2, heads=2)
    spec = RunSpec(weight_decay=0.5, layer_weight_decay="0.25")
    learner = Learner(network, spec, higher_is_better=True)
    weights = {name: parameter.detach() for name, parameter in network.named_parameters()}
    squares = {name: weight.double().square().sum().item() for name, weight in weights.items()}
    layers = sum(value for name, value in squares.items() if name.startswith("blocks."))
    expected = 0.25 / 2 * layers + 0.5 / 2 * (sum(squares.values()) - layers)
    assert learner.penalty(weights) == pytest.approx(expected)


def test_traffic_is_counted_where_something_is_sent():
    network = linear()
    assert learner_of(network).traffic() == {"sent_mb": None, "dense_mb": None}
    dense = learner_of(network, optimizer="memsgd")
    sparse = learner_of(network, compress="randk:3")
    for learner in (dense, sparse):
        take(learner, network, 2)
    # 24 numbers of 64 bits.
    assert dense.traffic() == {"sent_mb": 2 * 24 * 8 / 2**20, "dense_mb": 2 * 24 * 8 / 2**20}
    assert sparse.traffic() == {"sent_mb": 2 * 3 * 8 / 2**20, "dense_mb": 2 * 24 * 8 / 2**20}


def test_shares_are_of_encoder_layers_and_decoder():
    network = bare(4, 3, layers=2, hidden=2, heads=2)
    learner = Learner(network, RunSpec(compress="topk:1"), higher_is_better=True)
    learner.begin_step()
    for parameter in network.parameters():
        parameter.grad = torch.zeros_like(parameter)
    network.blocks[1].conv.fc.weight.grad[0, 0] = 100.0
    network.encoder.weight.grad[0, 0] = 1.0
    learner.exchange._decays.clear()
    learner.end_backward()
    assert learner.shares() == "0 - 1 -"
    assert Learner(network, RunSpec(), higher_is_better=True).shares() is None


def test_a_network_without_an_encoder_has_no_share_of_one():
    network = bare(4, 3, layers=2, hidden=2, heads=2, encoder="none")
    learner = Learner(network, RunSpec(compress="topk:1"), higher_is_better=True)
    learner.begin_step()
    for parameter in network.parameters():
        parameter.grad = torch.ones_like(parameter)
    network.blocks[0].conv.fc.weight.grad[0, 0] = 100.0
    learner.exchange._decays.clear()
    learner.end_backward()
    encoder, first, *others = learner.shares().split()
    assert (encoder, others) == ("-", ["0", "0"]) and 0 < float(first) < 1


@pytest.mark.parametrize("optimizer", ["adam", "sgd", "memsgd"])
def test_goes_on_from_what_was_saved_bit_for_bit(optimizer):
    options = {"optimizer": optimizer, "compress": "topk:3", "schedule": "inverse", "lr": 0.5}
    found = []
    for pause in (False, True):
        network = linear()
        learner = learner_of(network, **options)
        take(learner, network, 5)
        if pause:
            tensors = {name: tensor.clone() for name, tensor in learner.tensors().items()}
            state = learner.state()
            learner = learner_of(network, **options)
            learner.load(tensors, state)
        take(learner, network, 5)
        with learner.evaluated():
            found.append(network.weight.detach().clone())
    assert torch.equal(*found)
