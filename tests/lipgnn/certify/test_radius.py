"""Radii against their definition, and against a thousand attacks written once more."""

import math

import pytest
import torch
from networks import bare

from lipgnn.certify.bounds import layer_bounds, network_bound
from lipgnn.certify.radius import certified_radii, margins
from lipgnn.norms import advance_all
from lipgnn.runtime import dgl


def test_the_margin_is_the_lead_of_the_best_class():
    assert margins(torch.tensor([[1.0, 4.0, 2.5], [0.0, 0.0, -1.0], [-3.0, -5.0, -9.0]])).tolist() == [1.5, 0, 2]


def test_the_radius_is_the_margin_over_root_two_times_the_bound():
    found = certified_radii(torch.tensor([1.0, 0.5, 0.0], dtype=torch.float64), math.log10(20))
    assert found.tolist() == pytest.approx([1 / (math.sqrt(2) * 20), 0.5 / (math.sqrt(2) * 20), 0])
    assert (found[0] * math.sqrt(2) * 20).item() < 1


def test_bounds_beyond_all_numbers_give_small_radii_and_infinite_ones_none():
    margin = torch.tensor([3.0, 0.0], dtype=torch.float64)
    assert certified_radii(margin, 400.0).tolist() == [0, 0]
    assert certified_radii(1e200 * margin, 400.0)[0].item() == pytest.approx(3e-200 / math.sqrt(2))
    assert certified_radii(margin, math.inf).tolist() == [0, 0]
    assert certified_radii(margin, -math.inf).tolist() == [math.inf, 0]


COPIES = 1000


def attacked(deep, graph, x, radii, *, steps=10):
    """How many of a thousand attacks flip their node, all at once: each has a copy of the graph to itself.

    Every attack goes for one node and moves all features of its copy, down the gradient of the margin and no farther
    than the radius of its node.
    """
    nodes = torch.arange(COPIES) % len(x)
    rows = torch.arange(COPIES) * len(x) + nodes
    copies, features = dgl.batch([graph] * COPIES), x.repeat(COPIES, 1)
    own = deep(graph, x).argmax(dim=1)[nodes].unsqueeze(1)
    limit = radii[nodes].view(-1, 1, 1)
    change = torch.randn(COPIES, *x.shape, generator=torch.Generator().manual_seed(0), dtype=x.dtype)
    for step in range(steps + 1):
        change = (change * limit / change.norm(dim=(1, 2), keepdim=True)).detach().requires_grad_()
        logits = deep(copies, features + change.flatten(0, 1))[rows]
        others = logits.scatter(1, own, -math.inf).amax(dim=1, keepdim=True)
        lead = logits.gather(1, own) - others
        if step < steps:
            (gradient,) = torch.autograd.grad(lead.sum(), change)
            change = change - limit * gradient / gradient.norm(dim=(1, 2), keepdim=True)
    return int((lead < 0).sum())


@pytest.mark.parametrize(
    "options",
    [
        {"model": "gcn", "residual": "none"},
        {"model": "gcn", "residual": "initial"},
        {"norm": "lip", "weight_norm": "cap:1"},
        {"norm": "lip", "residual": "initial"},
        {"model": "gt", "norm": "lip", "weight_norm": "fix:0.5"},
    ],
)
def test_a_thousand_attacks_flip_no_certified_node(options, reference):
    graph, x = reference.small_graph(), reference.normal(0, 7, 3)
    torch.manual_seed(0)
    deep = bare(3, 3, **{"layers": 2, "hidden": 2, "heads": 2, "residual": "identity"} | options)
    deep = reference.redraw(deep, seed=1).eval().requires_grad_(False)
    # The singular vectors of bounded weights are from before the weights were drawn anew; they catch up.
    for _ in range(100):
        advance_all(deep)
    bound = network_bound(deep, layer_bounds(deep, graph))
    radii = certified_radii(margins(deep(graph, x)), bound.log10)
    assert (radii > 0).all()
    assert attacked(deep, graph, x, radii) == 0
    # The attack is no toy: ten thousand times as far it succeeds.
    assert attacked(deep, graph, x, 1e4 * radii) > COPIES / 2
