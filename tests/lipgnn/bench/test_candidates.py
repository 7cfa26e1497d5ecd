import pytest
import torch

from lipgnn.bench import candidates
from lipgnn.bench.candidates import build, obstacle
from lipgnn.bench.graphs import GraphChoice
from lipgnn.bench.inputs import CPU, Inputs, Shape
from lipgnn.kernels import fused

needs_fused = pytest.mark.skipif(fused.obstacle(CPU) is not None, reason=f"fused kernel: {fused.obstacle(CPU)}")


@pytest.fixture(scope="module")
def inputs():
    topology = GraphChoice(nodes=80, edges=500).topology()
    return lambda model, backward=True: Inputs(topology, Shape(model, 4, 6, backward))


def assert_equal_steps(first, second, count):
    """Both steps give the same output and gradients, so many in all."""
    ours, theirs = first(), second()
    assert len(ours) == len(theirs) == count
    for mine, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, other.view_as(mine), rtol=1e-4, atol=1e-5)


@needs_fused
@pytest.mark.parametrize("norm", ["none", "lip"])
@pytest.mark.parametrize("model, count", [("gat", 4), ("gt", 4)])
def test_edge_parts_compute_the_same(inputs, model, norm, count):
    made = inputs(model)
    assert_equal_steps(build("fused", norm, made), build("dgl", norm, made), count)


@needs_fused
@pytest.mark.parametrize("norm", ["none", "lip"])
@pytest.mark.parametrize("model, count", [("gat", 6), ("gt", 10)])
def test_layers_compute_the_same(inputs, model, norm, count):
    made = inputs(model)
    assert_equal_steps(build("layer fused", norm, made), build("layer dgl", norm, made), count)


def test_the_norm_is_computed_where_it_is_asked_for(inputs):
    made = inputs("gat")
    with_norm, without = (build("dgl", norm, made)()[0] for norm in ("lip", "none"))
    assert not torch.allclose(with_norm, without, atol=1e-3)


def test_the_layer_of_dgl_computes_the_same(inputs):
    made = inputs("gat")
    assert_equal_steps(build("layer dgl", "none", made), build("dgl.nn", None, made), 6)


@pytest.mark.parametrize("model", ["gat", "gt"])
def test_the_layer_of_pyg_computes_the_same(inputs, model):
    pytest.importorskip("torch_geometric")
    made = inputs(model)
    ours, theirs = build("layer dgl", "none", made)(), build("pyg", None, made)()
    # Parameters come in another order there; output and gradient of the input are enough.
    for mine, other in zip(ours[:2], theirs[:2], strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-4, atol=1e-5)


def test_forward_alone_has_no_gradients(inputs):
    made = inputs("gat", backward=False)
    (out,) = build("dgl", "lip", made)()
    assert not out.requires_grad
    torch.testing.assert_close(out, build("dgl", "lip", inputs("gat"))()[0])


def test_the_gather_limit_sums_the_features_of_all_neighbours(inputs):
    made = inputs("gat")
    features = made.z[0].detach().flatten(1)
    sources, targets = made.graph.edges()
    expected = torch.zeros_like(features).index_add_(0, targets, features[sources])
    torch.testing.assert_close(build("gather", None, made)(), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("backward, times", [(True, 3), (False, 1)])
def test_the_gather_limit_is_three_sums_or_one(inputs, monkeypatch, backward, times):
    calls = []
    monkeypatch.setattr(candidates.dgl.ops, "copy_u_sum", lambda graph, values: calls.append(values.shape))
    build("gather", None, inputs("gat", backward))()
    assert calls == [(80, 24)] * times


@pytest.mark.parametrize("model, backward, products", [("gat", True, 3), ("gat", False, 1), ("gt", True, 12)])
def test_the_gemm_limit_has_the_products_of_the_projections(inputs, model, backward, products):
    from lipgnn.bench.gemm import replay

    made = inputs(model, backward)
    assert replay(build("gemm", None, made))[1] == products


def test_what_cannot_be_measured_says_why(monkeypatch):
    assert obstacle("dgl.nn", Shape("gt", 8, 8), 100) == "DGL has no layer of this kind"
    assert obstacle("dgl", Shape("gt", 8, 8), 100) is None
    monkeypatch.setattr(candidates.importlib.util, "find_spec", lambda name: None)
    assert obstacle("pyg", Shape("gat", 8, 8), 100) == "PyTorch Geometric is not installed"


@pytest.mark.parametrize("free, fits", [(30_000, False), (60_000, True), (None, True)])
def test_pyg_is_left_out_where_memory_would_not_do(monkeypatch, free, fits):
    pytest.importorskip("torch_geometric")
    monkeypatch.setattr(candidates, "available_mb", lambda: free)
    reason = obstacle("pyg", Shape("gat", 8, 64), 2_500_000)
    assert reason is None if fits else reason == "it would need about 23.8 GB, and 29.3 GB are free"
