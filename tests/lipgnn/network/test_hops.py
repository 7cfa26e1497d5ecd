"""Hops: a layer on some nodes is the layer on all, as far as those are concerned."""

import pytest
import torch
from networks import BARE, bare
from toys import SilentLayer, SpeakingLayer

from lipgnn.network.deep import DeepGNN
from lipgnn.network.hops import Hop, convolve, per_block, targets_of
from lipgnn.nn import GATConv, GGNNConv, GINConv
from lipgnn.runtime import EDGE_TYPE, dgl
from lipgnn.spec.network import NetworkSpec


@pytest.fixture
def graph():
    """Thirty nodes with self-loops and a few neighbours each."""
    torch.manual_seed(0)
    return dgl.add_self_loop(dgl.remove_self_loop(dgl.rand_graph(30, 90)))


@pytest.fixture
def neighbourhood(graph):
    """The hops of a sample that leaves nothing out, its inputs, and its outputs, for two layers."""
    sampler = dgl.dataloading.NeighborSampler([-1, -1])
    inputs, outputs, flows = sampler.sample(dgl.remove_self_loop(graph), torch.tensor([4, 0, 17]))
    return [Hop.of_message_flow(flow) for flow in flows], inputs, outputs


@pytest.mark.parametrize("model", ["gat", "gatv2", "gt", "ggnn", "gin"])
@pytest.mark.parametrize("residual", ["none", "identity"])
def test_with_all_neighbours_the_targets_get_what_they_get_on_the_whole_graph(graph, neighbourhood, model, residual):
    hops, inputs, outputs = neighbourhood
    norm = "lip+layer" if model in ("gat", "gatv2", "gt") else "layer"
    network = bare(5, 3, model=model, layers=2, hidden=4, heads=2, norm=norm, residual=residual).eval()
    x = torch.randn(30, 5)
    with torch.no_grad():
        expected = network(graph, x)[outputs]
        torch.testing.assert_close(network(hops, x[inputs]), expected)


@pytest.mark.parametrize("model", ["gat", "ggnn"])
def test_gradients_are_those_of_the_targets_on_the_whole_graph(graph, neighbourhood, model):
    hops, inputs, outputs = neighbourhood
    network = bare(5, 3, model=model, layers=2, hidden=2, heads=2, residual="identity", kernel="dgl")
    x = torch.randn(30, 5)
    parameters = list(network.parameters())
    whole = torch.autograd.grad(network(graph, x)[outputs].square().sum(), parameters)
    for every in (0, 1):
        network.recompute_every = every
        sampled = torch.autograd.grad(network(hops, x[inputs]).square().sum(), parameters)
        for ours, theirs in zip(sampled, whole, strict=True):
            torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


def test_batch_norm_sees_the_targets_alone(neighbourhood):
    """In the MLP of GIN as well, whose rows of other nodes would be something else."""
    hops, inputs, _ = neighbourhood
    conv, x = GINConv(4, 4), torch.randn(len(inputs), 4)
    sums = torch.stack(
        [sum(x[int(s)] for s in hops[0].graph.predecessors(node)) for node in range(hops[0].targets)]
    )  # fmt: skip
    convolve(conv, hops[0], x)
    rows = conv.apply_func[0](sums)
    torch.testing.assert_close(conv.apply_func[1].running_mean, 0.1 * rows.mean(0))


@pytest.mark.parametrize("layer, flows", [(SilentLayer(4), True), (SpeakingLayer(4), False)])
def test_a_layer_that_does_not_say_what_it_keeps_sees_the_targets_alone(neighbourhood, layer, flows):
    hops, inputs, _ = neighbourhood
    x, seen = torch.randn(len(inputs), 4), []
    layer.register_forward_pre_hook(lambda module, arguments: seen.append(arguments[0].is_block))
    on_flow = layer(hops[0].to_message_flow(), x)
    torch.testing.assert_close(convolve(layer, hops[0], x), on_flow)
    assert seen == [True, flows]


def test_every_node_of_a_hop_has_its_self_loop_and_targets_come_first(neighbourhood):
    hops, inputs, outputs = neighbourhood
    for hop in hops:
        nodes = torch.arange(hop.graph.num_nodes())
        assert hop.graph.has_edges_between(nodes, nodes).all()
    assert hops[0].graph.num_nodes() == len(inputs)
    assert hops[0].targets == hops[1].graph.num_nodes()
    assert torch.equal(inputs[: len(outputs)], outputs)


def test_a_hop_as_a_message_flow_graph_has_the_edges_of_its_targets(neighbourhood):
    hop = neighbourhood[0][0]
    flow = hop.to_message_flow()
    assert (flow.num_src_nodes(), flow.num_dst_nodes()) == (hop.graph.num_nodes(), hop.targets)
    nodes = torch.arange(hop.targets)
    assert torch.equal(flow.in_degrees(nodes), hop.graph.in_degrees(nodes))


def test_one_graph_serves_all_blocks_and_a_list_each(graph, neighbourhood):
    hops = neighbourhood[0]
    assert per_block(graph, 3) == [graph] * 3
    assert per_block(hops, 2) is hops
    x = torch.randn(30, 2)
    assert targets_of(graph, x) is x
    assert len(targets_of(hops[1], x)) == hops[1].targets
    conv = GATConv(2, 2, 1)
    assert convolve(conv, graph, x).shape == (30, 2)
    assert convolve(GGNNConv(2, 2), hops[1], x[: hops[1].graph.num_nodes()]).shape == (hops[1].targets, 2)


def test_edges_of_hops_keep_their_types_and_loops_have_their_own(graph):
    sources, targets = graph.edges()
    graph.edata[EDGE_TYPE] = torch.where(sources == targets, 5, (3 * sources + targets) % 5)
    sampler = dgl.dataloading.NeighborSampler([-1, -1])
    inputs, outputs, flows = sampler.sample(dgl.remove_self_loop(graph), torch.tensor([4, 0, 17]))
    hops = [Hop.of_message_flow(flow, 5) for flow in flows]
    for norm in ("none", "lip"):
        spec = NetworkSpec(**{**BARE, "model": "gt", "layers": 2, "hidden": 4, "heads": 2, "norm": norm})
        network = DeepGNN(spec, 5, 3, edge_types=6).eval()
        x = torch.randn(30, 5)
        with torch.no_grad():
            torch.testing.assert_close(network(hops, x[inputs]), network(graph, x)[outputs])
            # As a message-flow graph, with the self-loops of the targets alone.
            h = network.encode(x[inputs])
            conv = network.blocks[0].conv
            flow = hops[0].to_message_flow()
            torch.testing.assert_close(conv(flow, h), conv(hops[0].graph, h)[: hops[0].targets])


def test_layers_into_shares_of_a_graph_are_the_layer_on_all_of_it(graph):
    """Every node is the target of one share; edges keep their types, and those of self-loops are the last."""
    graph.edata[EDGE_TYPE] = torch.where(graph.edges()[0] == graph.edges()[1], 3, torch.arange(graph.num_edges()) % 3)
    conv, x = GATConv(4, 2, 2).eval(), torch.randn(30, 4)
    whole = convolve(conv, graph, x)
    for first, end in ((0, 11), (11, 29), (29, 30), (30, 30)):
        hop = Hop.into(graph, first, end)
        assert hop.rows[: hop.targets].tolist() == list(range(first, end))
        torch.testing.assert_close(convolve(conv, hop, x[hop.rows]), whole[first:end])
        sources, targets, edges = hop.graph.edges(form="all")
        ours = {
            (int(hop.rows[s]), int(hop.rows[t]), int(hop.graph.edata[EDGE_TYPE][e]))
            for s, t, e in zip(sources.tolist(), targets.tolist(), edges.tolist(), strict=True)
        }
        theirs = set(zip(*(part.tolist() for part in graph.edges()), graph.edata[EDGE_TYPE].tolist(), strict=True))
        assert ours <= theirs and len(ours) == hop.graph.num_edges()
