"""What layers by products of queries and keys have in common, whatever their heads share."""

from functools import partial

import pytest
import torch

from lipgnn.errors import DataError
from lipgnn.nn import GroupedHeadsConv, SharedHeadsConv, TransformerConv
from lipgnn.runtime import dgl

pytestmark = pytest.mark.usefixtures("each_kernel")

KINDS = {
    "plain": TransformerConv,
    "collab": partial(SharedHeadsConv, shared_dim=4),
    "mqa": GroupedHeadsConv,
    "narrow mqa": partial(GroupedHeadsConv, shared_dim=1),
    "wide gqa": partial(GroupedHeadsConv, groups=3, shared_dim=9),
}
CASES = [(kind, norm) for kind in KINDS for norm in (None, "lip")]


@pytest.fixture(params=CASES, ids=lambda case: f"{case[0]} {case[1]}")
def make(request):
    kind, norm = request.param
    return partial(KINDS[kind], norm=norm)


def test_a_node_without_in_edges_is_refused_by_name_or_gives_the_skip_alone(make, reference):
    graph, x = reference.small_graph(loops=False), reference.normal(0, 7, 4)  # nothing enters node 6
    with pytest.raises(DataError, match=r"1 node\(s\) have no in-edge, the first: 6;"):
        reference.redraw(make(4, 2, 3), seed=1)(graph, x)
    conv = reference.redraw(make(4, 2, 3, allow_zero_in_degree=True), seed=1)
    torch.testing.assert_close(conv(graph, x)[6].flatten(), conv.skip(x[6]))


def test_a_message_flow_graph_gives_the_rows_of_its_targets(make, reference):
    graph, x = reference.small_graph(), reference.normal(0, 7, 4)
    conv = reference.redraw(make(4, 2, 3), seed=1)
    targets = torch.tensor([5, 2])
    block = dgl.to_block(dgl.in_subgraph(graph, targets), targets)
    torch.testing.assert_close(conv(block, x[block.srcdata[dgl.NID]]), conv(graph, x)[targets])


def test_sources_and_targets_of_different_widths(make, reference):
    graph = dgl.heterograph({("a", "to", "b"): ([0, 1, 2, 2], [0, 0, 1, 0])}, num_nodes_dict={"a": 3, "b": 2})
    conv = reference.redraw(make((5, 3), 2, 3), seed=1)
    source, target = reference.normal(0, 3, 5), reference.normal(1, 2, 3)
    out, attention = conv(graph, (source, target), get_attention=True)
    torch.testing.assert_close(conv(graph, (source, target)), out)
    values = conv.values(source).view(3, 3, 2) + conv.value.bias.view(3, 2)
    torch.testing.assert_close(out[1], values[2] + conv.skip(target[1]).view(3, 2))
    assert attention.shape == (4, 3, 1)


def test_weights_of_edges_multiply_the_attention(make, reference):
    graph, x = reference.small_graph(), reference.normal(0, 7, 4)
    conv = reference.redraw(make(4, 2, 3, skip=False), seed=1)
    weight = reference.normal(2, graph.num_edges()).exp().requires_grad_()
    out = conv(graph, x, edge_weight=weight)
    expected, attention = conv(graph, x, edge_weight=weight, get_attention=True)
    torch.testing.assert_close(out, expected, atol=1e-12, rtol=1e-12)
    torch.testing.assert_close(attention, conv(graph, x, get_attention=True)[1] * weight.view(-1, 1, 1))
    found = [torch.autograd.grad(y.sin().sum(), weight)[0] for y in (out, expected)]
    torch.testing.assert_close(*found, atol=1e-12, rtol=1e-12)


def test_the_spread_is_that_of_the_attention(make, reference):
    graph, x = reference.small_graph(), reference.normal(0, 7, 4)
    conv = reference.redraw(make(4, 2, 3), seed=1).eval()
    attention = conv(graph, x, get_attention=True)[1].squeeze(-1).detach()
    targets = graph.edges()[1]
    entropy = torch.zeros(7, 3).double().index_add(0, targets, -attention * attention.log())
    largest = torch.stack([attention[targets == node].amax(dim=0) for node in range(7)])
    spread = conv.spread(graph, x)
    torch.testing.assert_close(spread.entropy.detach(), entropy)
    torch.testing.assert_close(spread.largest.detach(), largest)


def test_values_are_what_is_added_up(make, reference):
    graph = reference.build([(i, i) for i in range(5)], nodes=5)
    conv, x = reference.redraw(make(4, 2, 3, skip=False, bias=False), seed=1), reference.normal(0, 5, 4)
    torch.testing.assert_close(conv(graph, x).flatten(1), conv.values(x))


def test_unknown_options_are_no_options(make):
    with pytest.raises(TypeError):
        make(4, 2, 3, shared_width=3)


def test_dropout_in_training_only(make, reference):
    graph, x = reference.small_graph(), reference.normal(0, 7, 4)
    plain = reference.redraw(make(4, 2, 3), seed=1)
    for drop in ("feat_drop", "attn_drop"):
        conv = reference.redraw(make(4, 2, 3, **{drop: 0.5}), seed=1)
        assert not torch.equal(conv(graph, x), conv(graph, x))
        conv.eval()
        torch.testing.assert_close(conv(graph, x), plain(graph, x), atol=0, rtol=0)


def test_nothing_is_left_on_the_graph(make, reference):
    graph = reference.small_graph()
    make(4, 2, 3)(graph, torch.ones(7, 4))
    assert not graph.ndata and not graph.edata
