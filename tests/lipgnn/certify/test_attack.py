"""Attacks on networks whose radii are known."""

import math

import pytest
import torch
from networks import bare

from lipgnn.certify.attack import Target, attack, flips
from lipgnn.certify.bounds import layer_bounds, network_bound
from lipgnn.certify.perturbation import PerturbedNetwork
from lipgnn.certify.radius import certified_radii, margins


def certified(deep, graph, x):
    """The network to perturb, and every node as a target."""
    perturbed = PerturbedNetwork(deep, graph, x)
    with torch.no_grad():
        logits = perturbed(perturbed.origin)
    whole = network_bound(deep, layer_bounds(deep, graph))
    radii = certified_radii(margins(logits), whole.log10)
    nodes = range(graph.num_nodes())
    return perturbed, list(map(Target, nodes, logits.argmax(dim=1).tolist(), radii.tolist()))


@pytest.fixture
def tight(reference):
    """A network that turns features round and adds nothing: logits ±(Qx)₁, and radii that are reached."""
    graph = reference.build([(i, i) for i in range(4)], nodes=4)
    deep = bare(2, 2, model="gcn", layers=1, hidden=2, heads=1, activation="none").double().eval()
    with torch.no_grad():
        deep.encoder.weight.copy_(torch.linalg.qr(reference.normal(1, 2, 2))[0])
        deep.blocks[0].conv.weight.copy_(torch.eye(2))
        deep.decoder.weight.copy_(torch.tensor([[1.0, 0.0], [-1.0, 0.0]]))
    return deep, graph, reference.normal(2, 4, 2)


def test_within_the_radius_nothing_flips_and_just_beyond_everything(tight):
    perturbed, targets = certified(*tight)
    deep, _, x = tight
    distance = (x @ deep.encoder.weight.t())[:, 0].abs().tolist()  # to the line where both logits are equal
    assert [target.radius for target in targets] == pytest.approx(distance)
    draws = torch.Generator().manual_seed(0)
    for target in targets:
        assert not any(flips(perturbed, target, draws) for _ in range(5))
        assert flips(perturbed, target._replace(radius=1.1 * target.radius), draws)


def test_nodes_are_attacked_farther_and_farther_until_all_have_fallen(reference):
    deep = bare(3, 3, norm="lip", layers=1, hidden=2, heads=1, residual="identity")
    deep, graph = reference.redraw(deep, seed=1).eval(), reference.small_graph()
    perturbed, targets = certified(deep, graph, reference.normal(0, 7, 3))
    found = attack(perturbed, targets, 10, lambda text: None)
    assert (found["tries"], found["flipped"]) == (10, 0)
    counts = [row["flipped"] for row in found["multiples"]]
    assert counts == sorted(counts) and counts[-1] == 7
    assert [row["multiple"] for row in found["multiples"]] == [10**k for k in range(1, len(counts) + 1)]
    assert all(row["tried"] == 7 for row in found["multiples"])


def test_a_radius_that_is_too_large_is_found_out(tight):
    perturbed, targets = certified(*tight)
    claimed = [target._replace(radius=3 * target.radius) for target in targets]
    assert attack(perturbed, claimed, 4, lambda text: None)["flipped"] == 4


def test_nodes_without_a_radius_are_left_alone(tight):
    perturbed, targets = certified(*tight)
    told = []
    nothing = {"tries": 0, "flipped": 0, "multiples": []}
    for radius in (0.0, math.inf):
        assert attack(perturbed, [target._replace(radius=radius) for target in targets], 5, told.append) == nothing
    assert attack(perturbed, targets, 0, told.append) == nothing
    assert told == []
    attack(perturbed, targets[:1], 2, told.append)
    assert told[:2] == ["Attack 1 of 2, 0 flipped …", "Attack 2 of 2, 0 flipped …"]


def test_where_no_change_matters_nothing_flips(tight):
    deep, graph, x = tight
    with torch.no_grad():
        deep.blocks[0].conv.weight.zero_()
        deep.decoder.bias.copy_(torch.tensor([1.0, 0.0]))
    perturbed = PerturbedNetwork(deep, graph, x)
    assert not flips(perturbed, Target(0, 0, 1e6), torch.Generator().manual_seed(0))
    assert math.isinf(certified(deep, graph, x)[1][0].radius)
