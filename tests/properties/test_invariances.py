"""What attention on a graph must not depend on: names of nodes, order of edges, other components, other heads."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lipgnn.nn import GATConv, GroupedHeadsConv, SharedHeadsConv, TransformerConv
from lipgnn.runtime import dgl

pytestmark = pytest.mark.usefixtures("each_kernel")

LOCAL = {
    "gat": partial(GATConv, residual=True),
    "gat lip": partial(GATConv, residual=True, norm="lip", kappa=0.5),
    "gt": TransformerConv,
    "gt lip": partial(TransformerConv, norm="lip", kappa=0.5),
    "collab": partial(SharedHeadsConv, shared_dim=5),
    "collab lip": partial(SharedHeadsConv, shared_dim=5, norm="lip", kappa=0.5),
    "mqa lip": partial(GroupedHeadsConv, norm="lip", kappa=0.5),
}
LAYERS = {
    **LOCAL,
    "gt lip graph": partial(TransformerConv, norm="lip", kappa=0.5, query_norm="graph"),
    "collab lip graph": partial(SharedHeadsConv, shared_dim=5, norm="lip", kappa=0.5, query_norm="graph"),
}
SEEDS = st.integers(0, 2**16)
close = partial(torch.testing.assert_close, rtol=1e-10, atol=1e-10)


def layer(reference, name: str, seed: int, heads: int = 3) -> torch.nn.Module:
    return reference.redraw(LAYERS[name](4, 2, heads), seed=seed).eval()


@pytest.mark.parametrize("name", LAYERS)
@settings(max_examples=15, deadline=None)
@given(data=st.data(), seed=SEEDS)
def test_renaming_the_nodes_renames_the_output(name, data, seed, reference):
    graph = data.draw(reference.graphs())
    nodes = graph.num_nodes()
    conv, x = layer(reference, name, seed), reference.normal(seed, nodes, 4)
    new = np.random.default_rng(seed).permutation(nodes)  # node i becomes new[i]
    renamed = reference.build([(new[j], new[i]) for j, i in reference.edges_of(graph)], nodes=nodes)
    x_renamed = torch.empty_like(x)
    x_renamed[new] = x
    out, attention = conv(graph, x, get_attention=True)
    out_renamed, attention_renamed = conv(renamed, x_renamed, get_attention=True)
    close(out_renamed[new], out)
    close(attention_renamed, attention)


@pytest.mark.parametrize("name", LAYERS)
@settings(max_examples=15, deadline=None)
@given(data=st.data(), seed=SEEDS)
def test_the_order_of_the_edges_does_not_matter(name, data, seed, reference):
    graph = data.draw(reference.graphs())
    conv, x = layer(reference, name, seed), reference.normal(seed, graph.num_nodes(), 4)
    order = np.random.default_rng(seed).permutation(graph.num_edges())
    edges = reference.edges_of(graph)
    shuffled = reference.build([edges[e] for e in order], nodes=graph.num_nodes())
    out, attention = conv(graph, x, get_attention=True)
    out_shuffled, attention_shuffled = conv(shuffled, x, get_attention=True)
    close(out_shuffled, out)
    close(attention_shuffled, attention[order])


@pytest.mark.parametrize("name", LOCAL)
@settings(max_examples=15, deadline=None)
@given(data=st.data(), seed=SEEDS, power=st.integers(-6, 6))
def test_a_disjoint_union_acts_component_by_component(name, data, seed, power, reference):
    """Not so for query_norm="graph", whose divisor is of the whole graph by its definition."""
    first, second = data.draw(reference.graphs()), data.draw(reference.graphs())
    conv = layer(reference, name, seed)
    x, y = reference.normal(seed, first.num_nodes(), 4), 10.0**power * reference.normal(seed + 1, second.num_nodes(), 4)
    out = conv(dgl.batch([first, second]), torch.cat([x, y]))
    close(out[: len(x)], conv(first, x))
    close(out[len(x) :], conv(second, y))


@pytest.mark.parametrize("name", LOCAL)
def test_a_graph_given_twice_gives_its_output_twice(name, reference):
    graph, x = reference.small_graph(), reference.normal(1, 7, 4)
    conv = layer(reference, name, seed=2)
    close(conv(dgl.batch([graph, graph]), torch.cat([x, x])), conv(graph, x).repeat(2, 1, 1))


@pytest.mark.parametrize("name", LOCAL)
@settings(max_examples=15, deadline=None)
@given(data=st.data(), seed=SEEDS)
def test_a_node_sees_its_neighbours_only(name, data, seed, reference):
    graph = data.draw(reference.graphs().filter(lambda graph: graph.num_nodes() > 1))
    conv, x = layer(reference, name, seed), reference.normal(seed, graph.num_nodes(), 4)
    changed = x.clone()
    changed[0] += 100 * reference.normal(seed + 1, 4)
    blind = [i for i in range(graph.num_nodes()) if (0, i) not in reference.edges_of(graph)]
    before, after = conv(graph, x), conv(graph, changed)
    close(after[blind], before[blind])
    assert not torch.allclose(after[0], before[0])


@pytest.mark.parametrize("name", LAYERS)
@settings(max_examples=15, deadline=None)
@given(data=st.data(), seed=SEEDS)
def test_attention_is_positive_and_sums_to_one_over_the_edges_into_a_node(name, data, seed, reference):
    graph = data.draw(reference.graphs())
    conv, x = layer(reference, name, seed), reference.normal(seed, graph.num_nodes(), 4)
    _, attention = conv(graph, x, get_attention=True)
    assert (attention >= 0).all()
    sums = torch.zeros(graph.num_nodes(), 3).double().index_add(0, graph.edges()[1], attention.squeeze(-1))
    close(sums, torch.ones_like(sums))


@pytest.mark.parametrize("name", LAYERS)
def test_equal_neighbours_are_averaged(name, reference):
    graph = reference.small_graph()
    conv = layer(reference, name, seed=1)
    x = reference.normal(2, 1, 4).expand(7, 4)
    _, attention = conv(graph, x, get_attention=True)
    degrees = graph.in_degrees()[graph.edges()[1]].view(-1, 1, 1)
    close(attention * degrees, torch.ones_like(attention))


@pytest.mark.parametrize("name", LAYERS)
@settings(max_examples=15, deadline=None)
@given(data=st.data(), seed=SEEDS)
def test_heads_are_single_head_layers_side_by_side(name, data, seed, reference):
    graph = data.draw(reference.graphs())
    x = reference.normal(seed, graph.num_nodes(), 4)
    conv = layer(reference, name, seed)
    out, attention = conv(graph, x, get_attention=True)
    for h in range(3):
        single = layer(reference, name, seed, heads=1)
        single.load_state_dict(reference.state_of_heads(conv, [h]))
        out_single, attention_single = single(graph, x, get_attention=True)
        close(out_single[:, 0], out[:, h])
        close(attention_single[:, 0], attention[:, h])
