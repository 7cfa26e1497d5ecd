import pytest
import torch
from torch import nn

from lipgnn.nn import (
    GATConv,
    GATSepConv,
    GCNConv,
    GINConv,
    GroupedHeadsConv,
    LinearMap,
    Mlp,
    SAGEConv,
    SharedHeadsConv,
    TransformerConv,
    bound_weights,
    initialize,
)
from lipgnn.nn.contract import score_weights_of
from lipgnn.spec.weight_norm import parse_weight_norm

LAYERS = {
    "gat": lambda: GATConv(6, 2, 3),
    "gat with a linear residual": lambda: GATConv(6, 2, 2, residual=True),
    "gat-sep": lambda: GATSepConv(6, 2, 3),
    "gt": lambda: TransformerConv(6, 2, 3),
    "gt without skip": lambda: TransformerConv(6, 2, 3, skip=False),
    "gt collab": lambda: SharedHeadsConv(6, 2, 3, shared_dim=4),
    "gt gqa": lambda: GroupedHeadsConv(6, 2, 6, groups=3),
    "gcn": lambda: GCNConv(6, 6),
    "sage": lambda: SAGEConv(6, 6),
    "sage without skip": lambda: SAGEConv(6, 6, skip=False),
    "gin": lambda: GINConv(6, 6),
    "mlp": lambda: Mlp(6, 12, nn.ELU()),
}
MATRICES = {"gat-sep": 3, "gat with a linear residual": 2, "gt": 4, "gt without skip": 3, "sage": 2, "gin": 2, "mlp": 2}
MATRICES |= {"gt collab": 4, "gt gqa": 4}


@pytest.mark.parametrize("kind", LAYERS)
def test_the_maps_of_a_layer_are_all_its_matrices(kind):
    layer = LAYERS[kind]()
    # A mixing is of heads, and no map of features.
    others = {id(parameter) for parameter in score_weights_of(layer)}
    named = {id(parameter) for parameter in layer.parameters() if parameter.dim() == 2} - others
    assert {id(linear.weight) for linear in layer.maps} == named
    assert len(named) == MATRICES.get(kind, 1)


@pytest.mark.parametrize("kind", LAYERS)
def test_with_all_last_maps_at_zero_a_layer_adds_nothing(kind, reference):
    layer = LAYERS[kind]().eval()
    initialize(layer.maps, "zero-last")
    out = layer(reference.small_graph(), reference.normal(0, 7, 6, dtype=torch.float32))
    assert not out.any()


@pytest.mark.parametrize("kind", LAYERS)
def test_orthogonal_maps_keep_lengths_head_by_head(kind):
    layer = LAYERS[kind]()
    initialize(layer.maps, "orthogonal")
    for linear in layer.maps:
        for head in linear.weight.unflatten(0, (linear.heads, -1)):
            torch.testing.assert_close(torch.linalg.svdvals(head), torch.ones(min(head.shape)))


@pytest.mark.parametrize("kind", LAYERS)
def test_every_head_of_every_map_is_bounded(kind, reference):
    layer = LAYERS[kind]().eval()
    bound_weights(layer.maps, parse_weight_norm("fix:4/L"), layers=8)
    for linear in layer.maps:
        lengths = torch.linalg.matrix_norm(linear.weight.unflatten(0, (linear.heads, -1)), 2)
        torch.testing.assert_close(lengths, torch.full_like(lengths, 0.5))
    out = layer(reference.small_graph(), reference.normal(0, 7, 6, dtype=torch.float32))
    out.sum().backward()
    originals = [parameter for name, parameter in layer.named_parameters() if "weight.original" in name]
    assert len(originals) == len(layer.maps) and all(p.grad.isfinite().all() for p in originals)


@pytest.mark.parametrize(("norm", "factor"), [("fix:2/L", 0.25), ("cap:0.5", 0.5), ("fix:3", 1.0)])
@pytest.mark.parametrize("kind", LAYERS)
def test_biases_shrink_with_the_bound_and_never_grow(kind, norm, factor):
    layer = LAYERS[kind]()
    biases = [linear.with_bias.bias for linear in layer.maps if linear.with_bias]
    assert len(biases) == len(layer.maps) - (kind in ("gat with a linear residual", "gat-sep", "sage"))
    for bias in biases:
        nn.init.uniform_(bias, 1, 2)
    bound_weights(layer.maps, parse_weight_norm(norm), layers=8)
    for linear, before in zip((linear for linear in layer.maps if linear.with_bias), biases, strict=True):
        torch.testing.assert_close(linear.with_bias.bias, factor * before)


def test_glorot_leaves_maps_alone():
    linear = nn.Linear(3, 3)
    before = linear.weight.clone()
    initialize([LinearMap(linear, last=True)], "glorot")
    torch.testing.assert_close(linear.weight, before, rtol=0, atol=0)
