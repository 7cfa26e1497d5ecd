import pytest
import torch

from lipgnn.bench import candidates
from lipgnn.bench.candidates import build
from lipgnn.bench.gemm import products
from lipgnn.bench.graphs import GraphChoice
from lipgnn.bench.inputs import CPU, Inputs, Shape
from lipgnn.kernels import fused
from lipgnn.runtime import EDGE_TYPE

needs_fused = pytest.mark.skipif(fused.obstacle(CPU) is not None, reason=f"fused kernel: {fused.obstacle(CPU)}")


@pytest.fixture(scope="module")
def inputs():
    topology = GraphChoice(nodes=80, edges=500).topology()
    return lambda model, *sharing: Inputs(topology, Shape(model, 4, 6, *sharing))


def assert_equal_steps(first, second, count):
    """Both steps give the same output and gradients, so many in all."""
    ours, theirs = first(), second()
    assert len(ours) == len(theirs) == count
    for mine, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, other.view_as(mine), rtol=1e-4, atol=1e-5)


@needs_fused
@pytest.mark.parametrize("norm", ["none", "lip"])
@pytest.mark.parametrize(
    "part, model, count",
    [
        ("", "gat", 4),
        ("", "gatv2", 4),
        ("", "gt", 4),
        ("layer ", "gat", 6),
        ("layer ", "gatv2", 7),
        ("layer ", "gt", 10),
    ],
)
def test_both_kernels_compute_the_same(inputs, part, model, norm, count):
    made = inputs(model)
    assert_equal_steps(build(f"{part}fused", norm, made), build(f"{part}dgl", norm, made), count)


@needs_fused
@pytest.mark.parametrize("norm", ["none", "lip"])
@pytest.mark.parametrize("part, count", [("", 5), ("layer ", 11)])
def test_both_kernels_compute_the_same_with_types_of_edges(part, norm, count):
    made = Inputs(GraphChoice(nodes=80, edges=500).topology(), Shape("gt", 4, 6, edge_types=7))
    assert made.graph.edata[EDGE_TYPE].unique().tolist() == list(range(7))
    assert_equal_steps(build(f"{part}fused", norm, made), build(f"{part}dgl", norm, made), count)


@needs_fused
@pytest.mark.parametrize("norm", ["none", "lip"])
@pytest.mark.parametrize(
    "part, sharing, count",
    [("", "collab", 5), ("layer ", "collab", 11), ("layer ", "mqa", 10), ("layer ", "gqa:2", 10)],
)
def test_both_kernels_compute_the_same_of_shared_heads(inputs, part, sharing, norm, count):
    made = inputs("gt", sharing, 10)
    assert_equal_steps(build(f"{part}fused", norm, made), build(f"{part}dgl", norm, made), count)


@needs_fused
def test_heads_that_share_nothing_are_the_plain_layer(inputs):
    made, plain = inputs("gt", "collab", 10), inputs("gt")
    for part, beside in (("fused", "plain"), ("layer fused", "layer plain")):
        assert_equal_steps(build(part, "lip", plain), build(beside, "lip", made), 4 if part == "fused" else 10)


def test_the_norm_is_computed_where_it_is_asked_for(inputs):
    made = inputs("gat")
    with_norm, without = (build("dgl", norm, made)()[0] for norm in ("lip", "none"))
    assert not torch.allclose(with_norm, without, atol=1e-3)


@pytest.mark.parametrize("model, count", [("gat", 6), ("gatv2", 7)])
def test_the_layer_of_dgl_computes_the_same(inputs, model, count):
    made = inputs(model)
    assert_equal_steps(build("layer dgl", "none", made), build("dgl.nn", None, made), count)


def test_the_gather_limit_sums_the_features_of_all_neighbours(inputs):
    made = inputs("gat")
    features = made.z[0].detach().flatten(1)
    sources, targets = made.graph.edges()
    expected = torch.zeros_like(features).index_add_(0, targets, features[sources])
    torch.testing.assert_close(build("gather", None, made)(), expected, rtol=1e-4, atol=1e-5)


def test_the_gather_limit_is_three_sums(inputs, monkeypatch):
    calls = []
    monkeypatch.setattr(candidates.dgl.ops, "copy_u_sum", lambda graph, values: calls.append(values.shape))
    build("gather", None, inputs("gat"))()
    assert calls == [(80, 24)] * 3


@pytest.mark.parametrize("model, maps", [("gat", 1), ("gt", 4)])
def test_the_gemm_limit_has_the_products_of_the_projections(inputs, model, maps):
    """Forward, and backward for the input and for the weights."""
    found = products(build("gemm", None, inputs(model)))
    assert len(found) == 3 * maps
    assert {operand.shape for _, operands in found for operand in operands[-2:]} <= {(80, 24), (24, 80), (24, 24)}
