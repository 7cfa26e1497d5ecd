"""What takes the place of a gradient in one process: conservation, the virtual iterate, digits, and a step by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from torch import nn

from lipgnn.datasets import read
from lipgnn.errors import UsageError
from lipgnn.spec.compression import parse_compress
from lipgnn.training.gradients.exchange import Exchange
from lipgnn.training.gradients.mean import WeightedMean
from lipgnn.training.gradients.memory import pieces_of

SPARSE = ("topk:0.1", "randk:0.1", "topk:3", "randk:3")


def toy(dtype=torch.float64):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(5, 6), nn.Tanh(), nn.Linear(6, 2)).to(dtype)


def exchange_of(network, compress, **options):
    return Exchange(network.named_parameters(), parse_compress(compress), **options)


def gradients(network, step):
    """The gradients of a loss that differs from step to step."""
    generator = torch.Generator().manual_seed(step)
    x = torch.randn(4, 5, generator=generator, dtype=next(network.parameters()).dtype)
    network.zero_grad()
    network(x).square().mean().backward()


def flat(tensors):
    return torch.cat([tensor.detach().reshape(-1) for tensor in tensors])


def steps(network, exchange, count, rate=lambda t: 0.3 / (1 + t)):
    """Take steps of SGD; yields after each η g, what was applied, and the memory."""
    for t in range(count):
        gradients(network, t)
        entered = rate(t) * flat(parameter.grad for parameter in network.parameters())
        exchange.apply(rate(t))
        applied = rate(t) * flat(parameter.grad for parameter in network.parameters())
        with torch.no_grad():
            for parameter in network.parameters():
                parameter -= rate(t) * parameter.grad
        yield entered, applied, flat(exchange.memory.of(name) for name, _ in network.named_parameters())


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 1e-5)])
@pytest.mark.parametrize("compress", SPARSE)
def test_what_was_sent_and_what_is_kept_is_all_that_entered(compress, dtype, tolerance):
    network = toy(dtype)
    taken = list(steps(network, exchange_of(network, compress), 50))
    entered, applied = (sum(step[place].double() for step in taken) for place in (0, 1))
    missing = applied + taken[-1][2].double() - entered
    assert missing.norm() <= tolerance * entered.norm()
    assert all((step[1] != 0).sum() <= 7 for step in taken), "sparse"


@pytest.mark.parametrize("compress", SPARSE)
def test_weights_differ_from_the_virtual_iterate_by_memory(compress):
    """x̃ takes the whole step η g at the same gradients: x − x̃ = m."""
    network = toy()
    virtual = flat(network.parameters())
    for entered, _, memory in steps(network, exchange_of(network, compress), 30):
        virtual = virtual - entered
        torch.testing.assert_close(flat(network.parameters()) - virtual, memory, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("compress", ["topk:1000", "randk:1000", "none"])
def test_all_coordinates_are_plain_sgd(compress):
    ours, theirs = toy(), toy()
    for _ in steps(ours, exchange_of(ours, compress), 20) if compress != "none" else _plain(ours, "none"):
        pass
    for _ in _plain(theirs, None):
        pass
    torch.testing.assert_close(flat(ours.parameters()), flat(theirs.parameters()), rtol=1e-12, atol=1e-14)


def _plain(network, compress):
    """Steps of SGD, with an exchange that compresses nothing if there is one."""
    exchange = exchange_of(network, compress) if compress else None
    optimizer = torch.optim.SGD(network.parameters(), lr=1.0)
    for t in range(20):
        gradients(network, t)
        if exchange:
            exchange.apply(0.3 / (1 + t))
        optimizer.param_groups[0]["lr"] = 0.3 / (1 + t)
        optimizer.step()
        yield


def test_one_step_is_that_of_grace_worked_out_by_hand():
    """Top-k with residual memory as GRACE (Xu et al. 2021) publishes it: compensate, compress, update.

    k = 2 of 5. Residual (0.5, −2, 0, 1, 0.25) plus gradient (1, 1, −0.5, 2, −3) is (1.5, −1, −0.5, 3, −2.75), of which
    3 and −2.75 are largest in size; the residual is left with (1.5, −1, −0.5, 0, 0).
    """
    weights = nn.Parameter(torch.zeros(5))
    exchange = Exchange([("w", weights)], parse_compress("topk:2"), scale="none")
    exchange.memory.of("w").copy_(torch.tensor([0.5, -2.0, 0.0, 1.0, 0.25]))
    weights.grad = torch.tensor([1.0, 1.0, -0.5, 2.0, -3.0])
    exchange.apply(rate=0.1)
    assert weights.grad.tolist() == [0, 0, 0, 3, -2.75]
    assert exchange.memory.of("w").tolist() == [1.5, -1, -0.5, 0, 0]
    # Two values of 32 bits, and places among five take three bits each.
    assert (exchange.sent_bits, exchange.dense_bits) == (2 * 35, 5 * 32)


def test_the_scale_makes_no_difference_at_a_constant_rate():
    found = []
    for scale in ("lr", "none"):
        network = toy()
        for _ in steps(network, exchange_of(network, "topk:0.1", scale=scale), 20, rate=lambda t: 0.25):
            pass
        found.append(flat(network.parameters()))
    torch.testing.assert_close(*found, rtol=1e-12, atol=1e-14)


def test_the_penalty_enters_memory_with_the_gradient():
    network = toy()
    decays = {name: 0.5 for name, _ in network.named_parameters()}
    exchange = exchange_of(network, "topk:1", decays=decays)
    gradients(network, 0)
    whole = flat(p.grad + 0.5 * p for p in network.parameters())
    exchange.apply(1.0)
    kept = flat(exchange.memory.of(name) for name in decays)
    torch.testing.assert_close(flat(p.grad for p in network.parameters()) + kept, whole, rtol=1e-14, atol=0)
    assert exchange.decays
    assert not exchange_of(network, "none", decays=decays).decays
    assert not exchange_of(network, "fp16", decays=decays).decays


@pytest.mark.parametrize("compress", ["topk:2", "randk:2", "qsgd:3"])
def test_the_order_of_a_buffer_makes_no_difference(compress):
    """Torch groups parameters anew after the first step."""
    parameters = [(name, nn.Parameter(torch.zeros(3))) for name in "abc"]
    found = []
    for order in itertools.permutations(range(3)):
        exchange = Exchange(parameters, parse_compress(compress), seed=4)
        numbers = torch.tensor([[3.0, 1, 2], [9, 7, 8], [6, 4, 5]])
        pieces = pieces_of([(parameters[place][0], 3) for place in order])
        result = exchange.exchange(numbers[list(order)].reshape(-1), pieces, 0.5)
        found.append({piece.name: result[piece.start : piece.end].tolist() for piece in pieces})
    assert all(one == found[0] for one in found)


def test_parameters_without_a_gradient_are_left_alone():
    network = toy()
    exchange = exchange_of(network, "topk:1")
    exchange.apply(0.1)
    assert exchange.sent_bits == 0
    network[2].weight.grad = torch.ones_like(network[2].weight)
    exchange.apply(0.1)
    assert network[0].weight.grad is None
    assert network[2].weight.grad.count_nonzero() == 1


def test_a_step_of_no_length_sends_nothing_and_keeps_all():
    network = toy()
    exchange = exchange_of(network, "topk:1")
    gradients(network, 0)
    exchange.apply(0.0)
    assert flat(p.grad for p in network.parameters()).count_nonzero() == 0
    assert exchange.sent_bits == 0


@pytest.mark.parametrize("compress", [*SPARSE, "qsgd:4", "fp16"])
def test_goes_on_from_what_was_saved_bit_for_bit(compress):
    found = []
    for pause in (False, True):
        network = toy()
        exchange = exchange_of(network, compress, seed=7)
        for t in range(12):
            if pause and t == 5:
                saved = {name: tensor.clone() for name, tensor in exchange.tensors().items()}
                exchange = exchange_of(network, compress, seed=7)
                exchange.load(saved)
            gradients(network, t)
            exchange.apply(0.1)
            with torch.no_grad():
                for parameter in network.parameters():
                    parameter -= 0.1 * parameter.grad
        found.append((flat(network.parameters()), exchange.tensors()))
    assert torch.equal(found[0][0], found[1][0])
    assert all(torch.equal(found[0][1][name], found[1][1][name]) for name in found[0][1])


def test_memory_of_another_network_is_refused():
    exchange = exchange_of(toy(), "topk:1")
    with pytest.raises(ValueError, match="of another network or compression"):
        exchange.load(exchange_of(nn.Linear(2, 2), "topk:1").tensors())


@pytest.mark.parametrize(
    ("compress", "bits"),
    [("none", 50 * 32), ("fp16", 50 * 16), ("topk:0.1", 5 * (32 + 6)), ("topk:1", 32 + 6), ("randk:7", 7 * 32)],
)
def test_traffic_is_that_of_the_formulas(compress, bits):
    network = toy(torch.float32)  # of 5·6 + 6 + 6·2 + 2 = 50 weights
    exchange = exchange_of(network, compress)
    for t in range(3):
        gradients(network, t)
        exchange.apply(0.1)
    assert (exchange.sent_bits, exchange.dense_bits) == (3 * bits, 3 * 50 * 32)


def test_power_sgd_is_for_workers():
    network = toy()
    gradients(network, 0)
    with pytest.raises(UsageError, match="there is one process"):
        exchange_of(network, "powersgd:2").apply(0.1)


def digits_objective(weights, features, signs):
    margins = signs * (features @ weights)
    return (np.logaddexp(0, -margins).mean() + weights @ weights / (2 * len(signs))).item()


@pytest.mark.parametrize(("memory", "low", "high"), [(True, 0.26643, 0.26744), (False, 0.4, 10)])
def test_top_1_finds_the_optimum_of_digits_with_memory_and_not_without(memory, low, high):
    """Logistic regression, one coordinate of 64 a step: the optimum is .26644, by L-BFGS."""
    source = read("digits-parity")
    features, signs = source.features.astype(np.float64), 2 * source.labels[:, 0].astype(np.float64) - 1
    x, y, count = torch.from_numpy(features), torch.from_numpy(signs), len(signs)
    network = nn.Linear(64, 1, bias=False).double()
    nn.init.zeros_(network.weight)
    exchange = Exchange(
        network.named_parameters(), parse_compress("topk:1"), memory=memory, decays={"weight": 1 / count}
    )
    mean = WeightedMean(network, 64.0)
    weights, draw = network.weight, np.random.RandomState(0)
    order = np.concatenate([draw.permutation(count) for _ in range(5)])
    with torch.no_grad():
        for t, item in enumerate(order.tolist()):
            margin = y[item] * (x[item] @ weights[0])
            weights.grad = (-y[item] * torch.sigmoid(-margin) * x[item])[None]
            rate = 2 * count / (64 + t)
            exchange.apply(rate)
            weights -= rate * weights.grad
            mean.add()
        with mean.in_place():
            found = digits_objective(weights[0].numpy(), features, signs)
    assert low < found < high
