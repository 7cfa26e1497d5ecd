import pytest
import torch

from lipgnn.compress.inputs import moments_of
from lipgnn.compress.layer import Layer

CPU = torch.device("cpu")


def scores(conv, x, parts=None):
    """Scores of all pairs of nodes, (N, N, H), without scale; of shared maps where these are given."""
    if parts is None:
        query, key = (linear(x).unflatten(1, (conv.num_heads, -1)) for linear in (conv.query, conv.key))
        return torch.einsum("ihd,jhd->ijh", query, key).detach()
    query, key = (x @ parts[f"{name}.weight"].mT + parts.get(f"{name}.bias", 0.0) for name in ("query", "key"))
    return torch.einsum("ir,hr,jr->ijh", query, parts["mixing"], key)


@pytest.fixture
def first(untrained, data):
    """The first layer of a network, the moments of its input, and that input."""

    def make(**options):
        saved = untrained(**options)
        x = saved.network.encode(data.features.double()).detach()
        return saved.network.blocks[0].conv, moments_of(saved, data, CPU)["blocks.0.conv"], x

    return make


@pytest.mark.parametrize("norm", ["none", "lip"])
@pytest.mark.parametrize("width", [3, 7])
def test_with_moments_the_error_is_that_of_the_scores_of_all_pairs(first, norm, width):
    conv, moments, x = first(norm=norm)
    layer = Layer(conv, seed=0, moments=moments)
    before, after = scores(conv, x), scores(conv, x, layer.weights(width))
    if norm == "none":  # what the softmax sees: differences between the neighbours of a node
        before, after = (one - one.mean(dim=1, keepdim=True) for one in (before, after))
    assert layer.error(width) == pytest.approx(((before - after).norm() / before.norm()).item(), rel=1e-6)


@pytest.mark.parametrize("norm", ["none", "lip"])
def test_with_moments_scores_are_met_better_than_without(first, norm):
    conv, moments, x = first(norm=norm)
    before = scores(conv, x)
    missed = []
    for given in (None, moments):
        change = scores(conv, x, Layer(conv, seed=0, moments=given).weights(5)) - before
        missed.append((change - change.mean(dim=1, keepdim=True) if norm == "none" else change).norm().item())
    assert missed[1] < missed[0]


def test_without_moments_the_error_is_that_of_the_weights(first):
    conv, _, _ = first(bias="none")
    layer = Layer(conv, seed=0)
    parts = layer.weights(5)
    query, key = (linear.weight.detach().unflatten(0, (3, -1)) for linear in (conv.query, conv.key))
    before = query.mT @ key
    after = torch.einsum("rf,hr,rg->hfg", parts["query.weight"], parts["mixing"], parts["key.weight"])
    assert layer.error(5) == pytest.approx(((before - after).norm() / before.norm()).item(), rel=1e-9)


def test_lengths_of_queries_and_keys_keep_their_ratio(first):
    """One head, so that a component is its alone: queries a hundred times longer than keys stay so."""
    conv, _, _ = first(heads=1, hidden=6, bias="none", norm="lip")
    with torch.no_grad():
        conv.query.weight.mul_(100 / conv.query.weight.norm())
        conv.key.weight.div_(conv.key.weight.norm())
    parts = Layer(conv, seed=0).weights(5)
    ratio = parts["query.weight"].norm(dim=1) / parts["key.weight"].norm(dim=1)
    assert torch.allclose(ratio, torch.full_like(ratio, 100.0), rtol=1e-9)


def test_energy_and_the_suggested_width(first):
    layer = Layer(first()[0], seed=0)
    assert layer.energy(layer.suggested) >= 0.99 > layer.energy(layer.suggested - 1)
    assert layer.energy(10**6) == pytest.approx(1.0)
    # No sum of so many components is nearer than that.
    assert layer.error(4) ** 2 >= 1 - layer.energy(4) - 1e-12


def test_an_input_of_nothing_makes_scores_of_nothing(first):
    conv, moments, _ = first(bias="none", norm="lip")
    layer = Layer(conv, seed=0, moments=torch.zeros_like(moments))
    assert layer.error(3) == 0.0
    assert all(part.isfinite().all() for part in layer.weights(3).values())
