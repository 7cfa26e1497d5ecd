"""SAGEConv against DGL's, PyTorch Geometric's and loops over edges, and its bound against Jacobians."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lipgnn.errors import DataError
from lipgnn.nn import GATConv, SAGEConv
from lipgnn.runtime import dgl
from lipgnn.spec.network import NetworkSpec


def by_the_book(edges, nodes, x, value, skip, bias):
    """The formula, node by node."""
    out = np.zeros((nodes, len(value)))
    for i in range(nodes):
        entering = [x[j] for j, target in edges if target == i]
        mean = sum(entering) / len(entering) if entering else np.zeros(x.shape[1])
        out[i] = value @ mean + skip @ x[i] + bias
    return out


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_equals_loops_over_edges(data, reference):
    graph = data.draw(reference.graphs(complete="nothing"))
    loops = data.draw(st.booleans())
    conv = reference.redraw(SAGEConv(4, 3, loops=loops), seed=1)
    x = reference.normal(2, graph.num_nodes(), 4)
    edges = [(j, i) for j, i in reference.edges_of(graph) if loops or j != i]
    own = reference.arrays(conv)
    expected = by_the_book(
        edges, graph.num_nodes(), x.numpy(), own["value.weight"], own["skip.weight"], own["skip.bias"]
    )
    np.testing.assert_allclose(conv(graph, x).detach(), expected, atol=1e-10)


def dgl_twin(conv, widths, out):
    twin = dgl.nn.SAGEConv(widths, out, "mean").double()
    twin.load_state_dict(
        {"fc_neigh.weight": conv.value.weight, "fc_self.weight": conv.skip.weight, "fc_self.bias": conv.skip.bias}
    )
    return twin


@pytest.mark.parametrize("widths", [(4, 3), (3, 4)])  # DGL multiplies by the weight first or last
def test_it_is_that_of_dgl(widths, reference):
    conv = reference.redraw(SAGEConv(*widths), seed=1)
    graph, x = reference.small_graph(loops=False), reference.normal(2, 7, widths[0]).requires_grad_()
    ours, theirs = conv(graph, x), dgl_twin(conv, *widths)(graph, x)
    torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-10)
    weights = reference.normal(3, *ours.shape)
    gradients = [torch.autograd.grad((weights * y).sum(), x)[0] for y in (ours, theirs)]
    torch.testing.assert_close(*gradients, rtol=1e-10, atol=1e-10)


def test_it_is_that_of_dgl_between_two_kinds_of_nodes_and_on_message_flow_graphs(reference):
    conv = reference.redraw(SAGEConv((4, 2), 3), seed=1)
    graph = dgl.heterograph({("a", "to", "b"): ([0, 1, 4, 0], [0, 0, 1, 1])}, num_nodes_dict={"a": 5, "b": 3})
    pair = (reference.normal(2, 5, 4), reference.normal(3, 3, 2))
    torch.testing.assert_close(conv(graph, pair), dgl_twin(conv, (4, 2), 3)(graph, pair), rtol=1e-10, atol=1e-10)
    conv = reference.redraw(SAGEConv(4, 3), seed=1)
    block = dgl.create_block(([0, 2, 1, 3], [0, 0, 1, 1]), num_src_nodes=4, num_dst_nodes=2)
    x = reference.normal(2, 4, 4)
    torch.testing.assert_close(conv(block, x), dgl_twin(conv, 4, 3)(block, x), rtol=1e-10, atol=1e-10)


def test_it_is_that_of_pytorch_geometric(reference, pyg):
    conv = reference.redraw(SAGEConv(4, 3), seed=1)
    theirs = pyg.SAGEConv(4, 3).double()
    names = {"lin_l.weight": conv.value.weight, "lin_l.bias": conv.skip.bias, "lin_r.weight": conv.skip.weight}
    theirs.load_state_dict(names, strict=True)
    graph, x = reference.small_graph(), reference.normal(2, 7, 4)
    torch.testing.assert_close(conv(graph, x), theirs(x, torch.stack(graph.edges())), rtol=1e-10, atol=1e-10)


def test_without_a_skip_it_is_attention_with_equal_weights(reference):
    conv = reference.redraw(SAGEConv(4, 6, skip=False), seed=1)
    attention = GATConv(4, 3, 2).double()
    with torch.no_grad():
        attention.fc.weight.copy_(conv.value.weight)
        attention.bias.copy_(conv.value.bias)
        attention.attn_l.zero_(), attention.attn_r.zero_()
    graph, x = reference.small_graph(), reference.normal(2, 7, 4)
    torch.testing.assert_close(conv(graph, x), attention(graph, x).flatten(1), rtol=1e-10, atol=1e-10)


def test_a_network_treats_the_node_apart_or_counts_its_loop():
    own, none = (SAGEConv.from_spec(NetworkSpec(model="sage", norm="none", skip=skip), 64) for skip in ("own", "none"))
    assert (own.skip is not None, own.loops) == (True, False)
    assert (none.skip, none.loops) == (None, True)


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_no_jacobian_exceeds_the_bound(data, reference):
    graph = data.draw(reference.graphs(complete="nothing"))
    options = {"skip": data.draw(st.booleans()), "loops": data.draw(st.booleans())}
    conv = reference.redraw(SAGEConv(3, 2, **options), seed=data.draw(st.integers(0, 99)))
    x = reference.normal(2, graph.num_nodes(), 3)
    stretch = reference.spectral_norm(reference.jacobian(partial(conv, graph), x))
    assert stretch <= conv.certified(graph).value * (1 + 1e-10)


@pytest.mark.parametrize("opposed", [False, True])
def test_the_bound_is_reached_where_all_nodes_have_as_many_edges(opposed, reference):
    """On a ring, by maps that act alike, or on channels of their own."""
    conv = SAGEConv(2, 2, bias=False).double()
    with torch.no_grad():
        conv.value.weight.copy_(torch.diag(torch.tensor([2.0, 0.0])))
        conv.skip.weight.copy_(torch.diag(torch.tensor([0.0, 2.0] if opposed else [2.0, 0.0])))
    graph = reference.build([(i, (i + 1) % 5) for i in range(5)], nodes=5)
    stretch = reference.spectral_norm(reference.jacobian(partial(conv, graph), reference.normal(0, 5, 2)))
    assert stretch == pytest.approx(2.0 if opposed else 4.0, rel=1e-10)
    # Maps on channels of their own: √2 times what there is, which neither of the two bounds sees.
    assert conv.certified(graph).value == pytest.approx(2 * 2**0.5 if opposed else 4.0, rel=1e-10)


def test_no_bound_where_sources_are_not_targets(reference):
    block = dgl.create_block(([0, 2], [0, 1]), num_src_nodes=4, num_dst_nodes=2)
    assert SAGEConv(4, 3).certified(block).reason.startswith("no bound is known where sources and targets")


def test_features_that_do_not_fit_are_refused(reference):
    with pytest.raises(DataError, match="must have a row for each of the 7 nodes of the graph and 4 columns"):
        SAGEConv(4, 3)(reference.small_graph(), torch.zeros(7, 5))
