"""What a step of the compiled kernel says about its weights, against loops over edges."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lipgnn.kernels import fused
from lipgnn.runtime import dgl

pytestmark = pytest.mark.skipif(
    fused.obstacle(torch.device("cpu")) is not None, reason=str(fused.obstacle(torch.device("cpu")))
)

FORMS = ["additive", "dot_product", "dynamic", "shared_product"]
TOLERANCE = {torch.float32: 2e-5, torch.float64: 1e-10}
# Every layout: heads fastest with and without a known width, width fastest with one group of heads and with several.
SHAPES = [(8, 8), (4, 3), (8, 40), (3, 7), (1, 1), (11, 9)]


def spread(form, graph, inputs, kappa, *, heads_fastest=False):
    def lay(x):
        return x.transpose(1, 2).contiguous().transpose(1, 2) if heads_fastest else x

    if form == "additive":
        z, attn_l, attn_r = inputs
        return fused.additive_spread(graph, lay(z), attn_l, attn_r, kappa=kappa, negative_slope=0.2)
    if form == "dynamic":
        key, query, attn = inputs
        return fused.dynamic_spread(graph, lay(key), lay(query), attn, kappa=kappa, negative_slope=0.2)
    if form == "shared_product":
        query, key, mixing, value = inputs
        scale = value.shape[-1] ** -0.5
        return fused.shared_product_spread(graph, query, key, mixing, lay(value), scale=scale, kappa=kappa)
    return fused.dot_product_spread(graph, *map(lay, inputs), kappa=kappa)


def inputs_of(form, nodes, heads, width, *, dtype, seed=0):
    generator = torch.Generator().manual_seed(seed)
    counts = {"additive": (nodes, 1, 1), "dot_product": (nodes, nodes, nodes), "dynamic": (nodes, nodes, 1)}
    shared = [(nodes, 9), (nodes, 9), (heads, 9), (nodes, heads, width)]
    shapes = shared if form == "shared_product" else [(count, heads, width) for count in counts[form]]
    return [torch.randn(shape, dtype=dtype, generator=generator) for shape in shapes]


def by_loops(reference, form, graph, inputs, kappa):
    """Entropy and largest weight of every node that an edge enters, by node and head."""
    edges, arrays = reference.edges_of(graph), [x.double().numpy() for x in inputs]
    if form == "additive":
        scores = reference.additive_scores(edges, arrays[0], arrays[1][0], arrays[2][0], kappa)
        scores = np.where(scores > 0, scores, 0.2 * scores)
    elif form == "dynamic":
        scores = reference.dynamic_scores(edges, *arrays[:2], arrays[2][0], kappa)
    elif form == "shared_product":
        scores = reference.shared_scores(edges, *arrays, kappa)
    else:
        scores = reference.dot_scores(edges, *arrays, kappa)
    _, weights = reference.attend(edges, scores, arrays[-1 if form == "shared_product" else 0])
    found = {}
    for node in {target for _, target in edges}:
        for head in range(weights.shape[1]):
            own = [weights[e, head] for e, (_, target) in enumerate(edges) if target == node]
            found[node, head] = (-math.fsum(p * math.log(p) for p in own if p > 0), max(own))
    return found


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=40, deadline=None)
@given(
    data=st.data(),
    shape=st.sampled_from(SHAPES),
    dtype=st.sampled_from([torch.float32, torch.float64]),
    kappa=st.sampled_from([None, 4.0, 0.5, 0.01]),
    seed=st.integers(0, 1000),
)
def test_spread_is_that_of_the_weights(form, data, shape, dtype, kappa, seed, reference):
    """Repeated edges and nodes without any included; kappa 0.01 has scores that take off the largest first."""
    graph = data.draw(reference.graphs(complete=data.draw(st.sampled_from(["nothing", "loops"]))))
    inputs = inputs_of(form, graph.num_nodes(), *shape, dtype=dtype, seed=seed)
    heads_fastest = shape[0] in (4, 8) and data.draw(st.booleans())
    entropy, largest = spread(form, graph, inputs, kappa, heads_fastest=heads_fastest)
    assert entropy.shape == largest.shape == (graph.num_nodes(), shape[0])
    # Scores of kappa 0.01 are up to a hundred: what float32 rounds off of them is as much of their weights.
    within = TOLERANCE[dtype] * (100 if kappa == 0.01 else 1)
    for (node, head), (expected, top) in by_loops(reference, form, graph, inputs, kappa).items():
        assert entropy[node, head].item() == pytest.approx(expected, abs=within)
        assert largest[node, head].item() == pytest.approx(top, abs=within)


@pytest.mark.parametrize("form", FORMS)
def test_huge_scores_leave_one_neighbour_and_no_entropy(form, reference):
    graph = reference.build([(i, j) for i in range(7) for j in range(7)], nodes=7)
    inputs = inputs_of(form, 7, 8, 8, dtype=torch.float32, seed=4)
    inputs[0] *= 1e30
    entropy, largest = spread(form, graph, inputs, None, heads_fastest=True)
    assert largest.eq(1).all() and entropy.abs().max() < 1e-30


@pytest.mark.parametrize("form", FORMS)
def test_what_is_not_finite_stays_visible(form, reference):
    inputs = inputs_of(form, 7, 8, 8, dtype=torch.float32)
    inputs[0][4, ..., 1] = float("nan")
    entropy, _ = spread(form, reference.small_graph(), inputs, None)
    assert entropy[4, 2].isnan()
    assert entropy[0].isfinite().all()


@pytest.mark.parametrize("form", FORMS)
def test_spread_does_not_depend_on_the_number_of_threads(form):
    nodes, threads, found = 2000, torch.get_num_threads(), []
    graph = dgl.rand_graph(nodes, 20_000)
    inputs = inputs_of(form, nodes, 8, 8, dtype=torch.float32)
    try:
        for number in (1, 3):
            torch.set_num_threads(number)
            found.append(spread(form, graph, inputs, 4.0))
    finally:
        torch.set_num_threads(threads)
    assert all(map(torch.equal, *found))
