import pytest
import torch

from lipgnn.bench.graphs import GraphChoice
from lipgnn.bench.inputs import Inputs, Shape


@pytest.fixture(scope="module")
def topology():
    return GraphChoice(nodes=60, edges=300).topology()


@pytest.mark.parametrize("model, count, kappa", [("gat", 1, 4.0), ("gatv2", 2, 4.0), ("gt", 3, 1.0)])
def test_both_orders_in_memory_hold_the_same_features(topology, model, count, kappa):
    inputs = Inputs(topology, Shape(model, 4, 6))
    assert (len(inputs.z), inputs.shape.kappa) == (count, kappa)
    for plain, ordered in zip(inputs.z, inputs.z_fused, strict=True):
        assert plain.shape == ordered.shape == (60, 4, 6)
        assert torch.equal(plain, ordered) and plain.data_ptr() != ordered.data_ptr()
        assert plain.is_leaf and ordered.is_leaf and plain.requires_grad and ordered.requires_grad


def test_shared_queries_and_keys_have_no_heads(topology):
    inputs = Inputs(topology, Shape("gt", 4, 6, "collab", 10))
    assert [z.shape for z in inputs.z] == [(60, 10), (60, 10), (60, 4, 6)]
    assert all(map(torch.equal, inputs.z, inputs.z_fused))
    assert inputs.plain.shape == Shape("gt", 4, 6) and len(inputs.plain.z) == 3
    assert inputs.layer("lip", "dgl").shared_dim == 10
    assert inputs.layer("none", "dgl").mixing.shape == (4, 10)


def test_what_is_computed_is_told_apart_by_name():
    names = {"gt": Shape("gt", 4, 6), "gt collab:24": Shape("gt", 4, 6, "collab"), "gt mqa:6": Shape("gt", 4, 6, "mqa")}
    assert all(str(shape) == name for name, shape in names.items())
    assert Shape("gt", 4, 6, "gqa:2", 8).channels == 8 and Shape("gat", 4, 6).channels == 0


@pytest.mark.parametrize("heads_fastest", [True, False])
def test_the_order_is_the_one_the_kernel_likes(topology, heads_fastest, monkeypatch):
    monkeypatch.setattr("lipgnn.kernels.fused.heads_fastest", lambda heads, width: heads_fastest, raising=False)
    (z,) = Inputs(topology, Shape("gat", 4, 6)).z_fused
    assert z.stride() == ((24, 1, 4) if heads_fastest else (24, 6, 1))


def test_inputs_and_weights_are_the_same_every_time(topology):
    first, second = (Inputs(topology, Shape("gat", 2, 3)) for _ in range(2))
    assert torch.equal(first.z[0], second.z[0])
    assert all(torch.equal(first.weights[name], second.weights[name]) for name in first.weights)


def test_the_graph_has_all_forms_before_anything_is_measured(topology):
    graph = Inputs(topology, Shape("gat", 2, 3)).graph
    assert (graph.num_nodes(), graph.num_edges()) == (60, 300)
    assert set(graph.formats()["created"]) == {"coo", "csr", "csc"}
