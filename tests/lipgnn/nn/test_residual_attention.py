"""What GAT and GATv2 share: residual, activation, the slopes that are fused or bounded, and the order of draws."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from lipgnn.nn import GATConv, GATv2Conv
from lipgnn.runtime import dgl

THEIRS = {GATConv: dgl.nn.GATConv, GATv2Conv: dgl.nn.GATv2Conv}


@pytest.mark.parametrize("kind", THEIRS)
@pytest.mark.parametrize("in_feats", [6, 5])
@pytest.mark.parametrize("residual, activation", [(True, None), (True, torch.tanh), (False, nn.ELU())])
def test_draws_and_computes_what_dgl_does(kind, in_feats, residual, activation, reference):
    layers = []
    for each in (kind, THEIRS[kind]):
        torch.manual_seed(3)
        layers.append(each(in_feats, 3, 2, residual=residual, activation=activation))
    ours, theirs = (dict(layer.named_parameters()) for layer in layers)
    for name, tensor in theirs.items():
        if name in ours:
            assert torch.equal(ours[name], tensor), name
    x = reference.normal(0, 7, in_feats).float()
    found, expected = (layer(reference.small_graph(), x) for layer in layers)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", THEIRS)
class TestSlopes:
    def test_none_steeper_than_one_is_bounded(self, kind, reference):
        for slope in (1.5, -1.5):
            found = kind(4, 2, 2, negative_slope=slope, norm="lip").certified(reference.small_graph())
            assert f"no bound is known for negative_slope {slope}" in found.reason

    def test_the_bound_counts_the_residual_and_the_slope_of_the_activation(self, kind, reference):
        layer, graph = kind(4, 2, 2, norm="lip", residual=True), reference.small_graph()
        with_identity = layer.certified(graph).value
        layer.res_fc = None
        alone = layer.certified(graph).value
        assert with_identity == pytest.approx(alone + 1)
        layer.activation = nn.ELU(alpha=3.0)
        assert layer.certified(graph).value == pytest.approx(3 * alone)

    def test_none_that_falls_is_fused(self, kind):
        assert kind(4, 2, 2, negative_slope=-0.1).kernel_on(torch.device("cpu")) is None
