"""The compiled kernel over edges with types equals the layers that DGL's message passing computes, with gradients."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lipgnn.errors import DataError
from lipgnn.kernels import fused
from lipgnn.nn import TransformerConv
from lipgnn.nn.softmax import aggregate
from lipgnn.runtime import EDGE_TYPE, dgl

pytestmark = pytest.mark.skipif(
    fused.obstacle(torch.device("cpu")) is not None, reason=str(fused.obstacle(torch.device("cpu")))
)

TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-10}
# Layouts: heads fastest with and without a known width, width fastest with one group of heads and with several.
SHAPES = [(8, 8), (8, 5), (4, 3), (8, 40), (3, 7), (1, 1), (1, 64), (11, 9), (17, 4)]


def typed(graph, count, seed=0):
    """The graph with types of its edges."""
    drawn = np.random.default_rng(seed).integers(0, count, graph.num_edges())
    graph.edata[EDGE_TYPE] = torch.from_numpy(drawn)
    return graph


def random_graph(nodes, edges, count, seed=0):
    sources, targets = np.random.default_rng(seed).integers(0, nodes, (2, edges))
    return typed(dgl.graph((torch.from_numpy(sources), torch.from_numpy(targets)), num_nodes=nodes), count)


def inputs_of(graph, count, heads, width, *, seed=0, dtype=torch.float64):
    """Query, key, value, codes and weights of edges."""
    draw = np.random.default_rng(seed)
    rows = (graph.num_nodes(), graph.num_nodes(), graph.num_nodes(), count)
    made = [draw.normal(size=(many, heads, width)) for many in rows]
    return [torch.from_numpy(x).to(dtype) for x in (*made, draw.uniform(0.5, 2.0, graph.num_edges()))]


def by_reference(graph, inputs, *, kappa, dropout=0.0, keep=None):
    query, key, value, codes, edge_weight = inputs
    norm = {"norm": None} if kappa is None else {"norm": "lip", "kappa": kappa}
    layer = TransformerConv(1, query.shape[2], query.shape[1], kernel="dgl", edge_types=len(codes), **norm)
    # A plain tensor in place of the parameter, so that gradients reach it.
    del layer.edge_type
    layer.edge_type = codes

    def drop(weights):
        return weights if keep is None else weights * keep.unsqueeze(-1) / (1 - dropout)

    return aggregate(graph, layer.scores(graph, query, key, value), value, drop, edge_weight)[0]


def by_kernel(graph, inputs, *, kappa, heads_fastest=False, dropout=0.0, seed=0):
    def lay(x):
        return x.transpose(1, 2).contiguous().transpose(1, 2) if heads_fastest else x

    query, key, value, codes, edge_weight = inputs
    options = {"kappa": kappa, "dropout": dropout, "seed": seed, "edge_weight": edge_weight, "codes": codes}
    return fused.dot_product(graph, lay(query), lay(key), lay(value), **options)


def with_gradients(function, graph, inputs, **options):
    leaves = [x.clone().requires_grad_() for x in inputs]
    out = function(graph, leaves, **options)
    given = np.random.default_rng(99).normal(size=out.shape)
    return [out.detach(), *torch.autograd.grad(out, leaves, torch.from_numpy(given).to(out.dtype))]


def compare(graph, inputs, *, heads_fastest=False, **options):
    """Outputs by their own size; gradients by the largest of all, since some vanish but for rounding."""
    found = with_gradients(by_kernel, graph, inputs, heads_fastest=heads_fastest, **options)
    expected = with_gradients(by_reference, graph, inputs, **options)
    limit = TOLERANCE[found[0].dtype]
    size = max([1e-30, *(float(x.abs().max()) for x in expected[1:] if x.numel())])
    torch.testing.assert_close(found[0], expected[0], atol=limit, rtol=limit)
    for ours, theirs in zip(found[1:], expected[1:], strict=True):
        torch.testing.assert_close(ours, theirs, atol=limit * size, rtol=limit)


@settings(max_examples=80, deadline=None)
@given(
    data=st.data(),
    shape=st.sampled_from(SHAPES),
    dtype=st.sampled_from([torch.float32, torch.float64]),
    kappa=st.sampled_from([None, 4.0, 0.5, 0.01]),
    count=st.sampled_from([1, 2, 40]),
    seed=st.integers(0, 1000),
)
def test_equals_the_reference_on_any_graph(data, shape, dtype, kappa, count, seed, reference):
    """Isolated nodes, repeated edges of one type and of several, with and without loops; every layout, both types."""
    graph = data.draw(reference.graphs(complete=data.draw(st.sampled_from(["nothing", "loops"]))))
    typed(graph, count, seed)
    inputs = inputs_of(graph, count, *shape, seed=seed, dtype=dtype)
    heads_fastest = shape[0] in (4, 8) and data.draw(st.booleans())
    compare(graph, inputs, kappa=kappa, heads_fastest=heads_fastest)


@pytest.mark.parametrize("kappa", [None, 1.0])
@pytest.mark.parametrize("count", [3, 3000])
@pytest.mark.parametrize("shape, heads_fastest", [((8, 8), True), ((3, 5), False)])
def test_equals_the_reference_where_there_are_many_edges_or_many_types(shape, heads_fastest, count, kappa):
    graph = random_graph(300, 9000, count)
    compare(graph, inputs_of(graph, count, *shape), kappa=kappa, heads_fastest=heads_fastest)


@pytest.mark.parametrize("kappa", [None, 1.0])
@pytest.mark.parametrize("shape, heads_fastest", [((8, 8), True), ((3, 5), False), ((9, 4), False)])
def test_every_bit_is_the_same_at_any_number_of_threads(shape, heads_fastest, kappa):
    graph = random_graph(500, 20_000, 50)
    inputs = inputs_of(graph, 50, *shape, dtype=torch.float32)
    threads = torch.get_num_threads()
    results = []
    try:
        for count in (1, 2, 3, 7):
            torch.set_num_threads(count)
            results.append(with_gradients(by_kernel, graph, inputs, kappa=kappa, heads_fastest=heads_fastest))
    finally:
        torch.set_num_threads(threads)
    for other in results[1:]:
        assert all(torch.equal(one, two) for one, two in zip(results[0], other, strict=True))


@pytest.mark.parametrize("heads_fastest", [True, False])
@pytest.mark.parametrize("kappa", [None, 1.0])
def test_codes_of_zero_give_what_the_kernel_without_types_gives(kappa, heads_fastest):
    graph = random_graph(60, 400, 3)
    inputs = inputs_of(graph, 3, 8, 8)
    inputs[3].zero_()
    plain = fused.dot_product(graph, *inputs[:3], kappa=kappa, dropout=0.3, seed=5, edge_weight=inputs[4])
    coded = by_kernel(graph, inputs, kappa=kappa, heads_fastest=heads_fastest, dropout=0.3, seed=5)
    torch.testing.assert_close(coded, plain, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kappa", [None, 1.0])
@pytest.mark.parametrize("heads, heads_fastest", [(4, True), (3, False)])
def test_gradcheck_with_dropout_and_edge_weights(heads, heads_fastest, kappa, reference):
    graph = typed(reference.small_graph(loops=False), 3)
    inputs = [x.requires_grad_() for x in inputs_of(graph, 3, heads, 2)]
    options = {"kappa": kappa, "heads_fastest": heads_fastest, "dropout": 0.4, "seed": 3}
    assert torch.autograd.gradcheck(lambda *own: by_kernel(graph, own, **options), inputs)


@pytest.mark.parametrize("size", [1e-30, 1e30])
def test_with_the_norm_features_of_any_size_are_alike(size):
    graph = random_graph(20, 100, 4)
    inputs = inputs_of(graph, 4, 4, 3, dtype=torch.float32)
    scaled = [x * size for x in inputs[:4]] + inputs[4:]
    usual, other = (with_gradients(by_kernel, graph, each, kappa=1.0) for each in (inputs, scaled))
    torch.testing.assert_close(other[0] / size, usual[0], rtol=1e-4, atol=1e-5)
    for found, wanted in zip(other[1:4], usual[1:4], strict=True):
        assert found.isfinite().all()
        torch.testing.assert_close(found, wanted, rtol=1e-3, atol=1e-4)


def test_repeated_edges_of_equal_length_pass_their_gradient_to_the_first_as_dgl_does(reference):
    graph = reference.build([(0, 1), (0, 1), (0, 1), (1, 0)], nodes=2)
    graph.edata[EDGE_TYPE] = torch.tensor([1, 0, 0, 1])
    inputs = inputs_of(graph, 2, 4, 3)
    inputs[3][1] = inputs[3][0]
    compare(graph, inputs, kappa=1.0)


def test_nothing_with_a_row_for_every_edge_is_kept():
    graph = random_graph(50, 40_000, 7)
    inputs = [x.requires_grad_() for x in inputs_of(graph, 7, 8, 8, dtype=torch.float32)[:4]]
    sizes = []
    fused.dot_product(graph, *inputs[:3], kappa=1.0, dropout=0.0, seed=0, codes=inputs[3])  # the orders of types
    with torch.autograd.graph.saved_tensors_hooks(lambda x: sizes.append(x) or x, lambda x: x):
        fused.dot_product(graph, *inputs[:3], kappa=1.0, dropout=0.0, seed=0, codes=inputs[3])
    # But for the types of edges themselves, which the graph has once for all layers.
    assert {x.numel() for x in sizes if x.dtype == torch.int32} == {40_000, 50 * 2 * 8}
    assert max(x.numel() for x in sizes if x.dtype != torch.int32) <= 50 * 64


def test_codes_that_do_not_fit_are_refused(reference):
    graph = typed(reference.small_graph(), 3)
    query, key, value, codes, _ = inputs_of(graph, 3, 2, 2)
    for wrong, said in ((codes[:, :1], r"codes must be \(3, 2, 2\)"), (codes[:2], "the layer has 2 types")):
        with pytest.raises(DataError, match=said):
            fused.dot_product(graph, query, key, value, kappa=None, dropout=0.0, seed=0, codes=wrong)
