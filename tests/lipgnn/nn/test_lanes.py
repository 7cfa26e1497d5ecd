"""Heads of several slices side by side are attended as each is by itself."""

import pytest
import torch

from lipgnn.kernels import fused
from lipgnn.nn import GATConv, GATSepConv, GATv2Conv, GroupedHeadsConv, SharedHeadsConv, TransformerConv
from lipgnn.nn.lanes import Lanes

KINDS = {
    "gat": GATConv,
    "gat-sep": GATSepConv,
    "gatv2": GATv2Conv,
    "gt": TransformerConv,
    "gqa": lambda *sizes, **options: GroupedHeadsConv(*sizes, groups=1, shared_dim=2, **options),
    "collab": lambda *sizes, **options: SharedHeadsConv(*sizes, shared_dim=4, **options),
}


@pytest.mark.parametrize("slices, heads", [(1, 8), (3, 5), (16, 4), (2, 3), (5, 16)])
def test_groups_hold_every_head_once_and_zeros_beside_them(slices, heads, reference):
    x = reference.normal(0, slices, 7, heads, 3)
    lanes = Lanes(slices, heads, 8)
    groups = [first for first, _ in lanes.groups_of([x, None])]
    assert all(group.shape == (7, 8, 3) and group.transpose(-1, -2).is_contiguous() for group in groups)
    assert torch.equal(lanes.joined(groups), x.transpose(0, 1))
    everything = torch.cat(groups, dim=1)
    assert len(everything[0]) - slices * heads < 8 and not everything[:, slices * heads :].any()
    for group, features in enumerate(groups):
        for lane, head in enumerate(lanes.heads_in(group, x.device).tolist()):
            place = group * 8 + lane
            if place < slices * heads:
                assert torch.equal(features[:, lane], x[place // heads, :, head])


@pytest.mark.skipif(fused.obstacle(torch.device("cpu")) is not None, reason="the fused kernel is not compiled")
@pytest.mark.parametrize("norm", [None, "lip"])
@pytest.mark.parametrize("kind", KINDS)
def test_outputs_and_gradients_are_those_of_messages(kind, norm, reference):
    graph = reference.small_graph()
    nodes = graph.num_nodes()
    x = reference.normal(0, nodes, 2, 3, 6)
    found = []
    for kernel in ("fused", "dgl"):
        torch.manual_seed(0)
        layer = KINDS[kind](6, 3, 5, norm=norm, kernel=kernel).double()
        own = x.clone().requires_grad_()
        out = layer(graph, own)
        assert out.shape == (nodes, 2, 3, 5, 3)
        (out * torch.sin(torch.arange(out.numel())).view_as(out)).sum().backward()
        found.append([out.detach(), own.grad, *(parameter.grad for parameter in layer.parameters())])
    for ours, theirs in zip(*found, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-10)


def test_codes_of_types_follow_their_heads(reference):
    graph = reference.small_graph()
    graph.edata["edge_type"] = torch.arange(graph.num_edges()) % 4
    x = reference.normal(0, graph.num_nodes(), 7, 6)
    torch.manual_seed(0)
    layer = TransformerConv(6, 3, 5, edge_types=4).double()
    each = torch.stack([layer(graph, x[:, k]) for k in range(7)], dim=1)
    torch.testing.assert_close(layer(graph, x), each, rtol=1e-12, atol=1e-12)


def test_every_lane_drops_weights_of_its_own(reference):
    graph = reference.small_graph()
    layer = GATConv(4, 3, 5, attn_drop=0.5, bias=False).double().train()
    equal = reference.normal(0, graph.num_nodes(), 1, 4).expand(-1, 3, -1)
    out = layer(graph, equal)
    assert not any(torch.allclose(out[:, 0], out[:, k]) for k in (1, 2))
    layer.eval()
    out = layer(graph, equal)
    torch.testing.assert_close(out[:, 0], out[:, 1], rtol=1e-12, atol=1e-12)
