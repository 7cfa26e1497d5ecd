"""What becomes of a layer's input, by each residual connection: against formulas, DGL's and PyG's own layers."""

import math

import pytest
import torch
from networks import bare

from lipgnn.errors import UsageError
from lipgnn.network.blocks import Gate
from lipgnn.network.hops import Hop
from lipgnn.nn.spread import spread_of
from lipgnn.runtime import dgl

WITH_VALUES = ["gat", "gatv2", "gt", "gcn"]


def network(reference, **options):
    """Three features, two classes, width 2 · 2, in float64 and evaluation."""
    return reference.redraw(bare(3, 2, **{"layers": 3, "hidden": 2, "heads": 2} | options), seed=1).eval()


def by_hand(deep, graph, x, step):
    """Encoder, step(layer, block, x, start) for every block, decoder."""
    x = start = deep.encoder(x)
    for layer, block in enumerate(deep.blocks, start=1):
        x = step(layer, block, x, start)
    return deep.decoder(x)


def test_initial_on_gcn_is_the_layer_of_gcnii_in_dgl(reference):
    graph, x = reference.small_graph(), reference.normal(0, 7, 3)
    graph = dgl.to_bidirected(graph)
    deep = network(reference, model="gcn", residual="initial", alpha=0.2, beta=0.7, activation="relu")

    def step(layer, block, x, start):
        rival = dgl.nn.GCN2Conv(4, layer, alpha=0.2, lambda_=0.7, project_initial_features=True, bias=True).double()
        with torch.no_grad():
            rival.weight1.copy_(block.conv.parametrizations.weight.original)
            # Our bias is part of what is mixed, DGL's is added after it.
            rival.bias.copy_(0.8 * block.conv.bias)
        return torch.relu(rival(graph, x, start))

    torch.testing.assert_close(deep(graph, x), by_hand(deep, graph, x, step))


@pytest.mark.parametrize("model", WITH_VALUES)
def test_initial_mixes_what_a_layer_adds_up_with_the_first_features(model, reference):
    """With attention and map of a layer held, σ(((1 − α) P x + α x⁰) V) is linear in x⁰ with factor α V."""
    graph, x = reference.small_graph(), reference.normal(0, 7, 3)
    deep = network(reference, model=model, residual="initial", alpha=0.3, activation="none")

    def step(layer, block, x, start):
        weight = block.conv.value_map.weight
        mapped = start @ (weight if model == "gcn" else weight.t())
        return 0.7 * block.conv(graph, x).flatten(1) + 0.3 * mapped

    torch.testing.assert_close(deep(graph, x), by_hand(deep, graph, x, step))
    kept = network(reference, model=model, residual="initial", alpha=1.0, beta=0.0, activation="none", layers=5)
    torch.testing.assert_close(kept(graph, x), kept.decoder(kept.encoder(x)))


def test_a_gate_is_that_of_the_graph_transformer_with_a_start_by_depth(reference):
    """Shi et al. have [y ‖ x ‖ y − x] for their r and x, as PyG does: the same gate with its weights in that order."""
    x, y = reference.normal(0, 7, 4), reference.normal(1, 7, 4)
    gate = reference.redraw(Gate(4, 10), seed=1)
    of_x, of_y, of_difference = gate.linear.weight.detach().view(3, 4)
    share = torch.sigmoid(x @ of_x + y @ of_y + (x - y) @ of_difference + gate.linear.bias).view(-1, 1)
    torch.testing.assert_close(gate(x, y), share * x + (1 - share) * y)
    fresh = Gate(4, 10).double()
    torch.testing.assert_close(fresh(x, y), 0.9 * x + 0.1 * y)


def test_gated_blocks(reference):
    graph, x = reference.small_graph(), reference.normal(0, 7, 3)
    deep = network(reference, residual="gated", norm="lip")

    def step(layer, block, x, start):
        return block.gate(x, torch.nn.functional.elu(block.conv(graph, x).flatten(1)))

    torch.testing.assert_close(deep(graph, x), by_hand(deep, graph, x, step))


@pytest.mark.parametrize("norm", ["lip", "lip+layer"])
def test_linear_adds_the_input_through_a_map_before_norm_and_activation(norm, reference):
    graph, x = reference.small_graph(), reference.normal(0, 7, 3)
    deep = network(reference, residual="linear", norm=norm)

    def step(layer, block, x, start):
        y = block.conv(graph, x).flatten(1) + x @ block.beside.weight.t()
        return torch.nn.functional.elu(y if block.norm is None else block.norm(graph, y))

    torch.testing.assert_close(deep(graph, x), by_hand(deep, graph, x, step))


def test_linear_maps_see_what_the_layer_sees_and_are_bounded_like_its_own(reference):
    deep = network(reference, residual="linear", layer_dropout=0.5, weight_norm="fix:0.5").train()
    block, seen = deep.blocks[0], []
    for part in (block.conv, block.beside):
        part.register_forward_pre_hook(lambda _, given: seen.append(given[-1]))
    deep(reference.small_graph(), reference.normal(0, 7, 3))
    assert seen[0] is seen[1] and (seen[0] == 0).any()
    fresh = bare(3, 2, layers=2, hidden=2, heads=2, residual="linear", weight_norm="fix:0.5").eval()
    assert torch.linalg.matrix_norm(fresh.blocks[0].beside.weight, ord=2).item() == pytest.approx(0.5, rel=1e-4)


@pytest.mark.parametrize("residual", ["none", "identity", "scaled", "gated", "initial"])
def test_an_mlp_follows_every_layer_with_a_residual_wherever_the_layer_has_one(residual, reference):
    graph, x = reference.small_graph(), reference.normal(0, 7, 3)
    deep = network(reference, residual=residual, mlp="2x", activation="tanh")

    def step(layer, block, x, start):
        mlp, block.mlp = block.mlp, None
        x = block(graph, x, start)
        block.mlp = mlp
        w1, b1, w2, b2 = mlp.conv.parameters()
        y = torch.tanh(x @ w1.t() + b1) @ w2.t() + b2
        return y if residual == "none" else x + y * (3**-0.5 if residual == "scaled" else 1)

    torch.testing.assert_close(deep(graph, x), by_hand(deep, graph, x, step))


@pytest.mark.parametrize("mlp", ["none", "2x"])
def test_a_norm_first_leaves_the_residual_alone(mlp, reference):
    graph, x = reference.small_graph(), reference.normal(0, 7, 3)
    deep = network(reference, norm="lip+layer", norm_place="pre", residual="identity", mlp=mlp)

    def step(layer, block, x, start):
        x = x + torch.nn.functional.elu(block.conv(graph, block.norm(graph, x)).flatten(1))
        return x if mlp == "none" else x + block.mlp.conv(None, block.mlp.norm(None, x))

    torch.testing.assert_close(deep(graph, x), by_hand(deep, graph, x, step))
    weights = deep.attention(graph, x)[0]
    first = deep.blocks[0]
    normed = first.norm(graph, deep.encoder(x))
    torch.testing.assert_close(weights, first.conv(graph, normed, get_attention=True)[1].squeeze(-1))
    torch.testing.assert_close(tuple(first.spread(graph, deep.encoder(x))), tuple(spread_of(graph, weights)))


@pytest.mark.parametrize("residual", ["gated", "initial", "identity", "linear"])
@pytest.mark.parametrize("mlp", ["none", "2x"])
def test_blocks_on_hops_are_blocks_on_their_targets(residual, mlp, reference):
    graph = reference.build([(0, 0), (1, 1), (2, 2), (1, 0), (2, 0), (2, 1), (0, 1)], nodes=3)
    deep = network(reference, layers=2, residual=residual, mlp=mlp, norm="lip")
    x = reference.normal(0, 3, 3)
    order = torch.tensor([2, 0, 1])
    hops = [Hop(dgl.node_subgraph(graph, order), 3, order), Hop(graph, 1, torch.tensor([1, 2, 0]))]
    torch.testing.assert_close(deep(hops, x), deep(graph, x)[:1])


@pytest.mark.parametrize("options", [{"residual": "initial"}, {"residual": "gated", "mlp": "2x"}, {"mlp": "2x"}])
@pytest.mark.parametrize("every", [1, 2])
def test_activations_computed_again_give_the_same_gradients(options, every, reference):
    graph, x = reference.small_graph(), reference.normal(0, 7, 3)
    gradients = []
    for distance in (0, every):
        torch.manual_seed(0)
        deep = network(reference, layers=5, weight_norm="cap:1", layer_dropout=0.5, **options).train()
        deep.recompute_every = distance
        deep(graph, x).square().sum().backward()
        gradients.append([p.grad for p in deep.parameters()])
    torch.testing.assert_close(*gradients, rtol=0, atol=0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "ggnn", "weight_norm": "cap:1"}, "linear maps"),
        ({"model": "gin", "residual": "initial"}, "'initial'"),
        ({"skip": "none"}, "--skip none"),
        ({"model": "ggnn", "init": "orthogonal"}, "--init orthogonal"),
        ({"init": "zero-last", "residual": "none"}, "nothing would be left"),
        ({"init": "zero-last", "residual": "identity", "weight_norm": "fix:1"}, "start at zero"),
        ({"mlp": "2x", "stack": "reversible", "residual": "scaled"}, "no MLPs"),
        ({"stack": "reversible", "residual": "gated"}, "residual sum"),
        ({"weight_norm": "fix:0"}, "positive C, got 'fix:0'"),
        ({"weight_norm": "4/L"}, "cap:C or fix:C"),
        ({"weight_norm": "fix:4/K"}, "cap:C or fix:C"),
        ({"weight_norm": "fix:inf"}, "positive C"),
    ],
)
def test_parts_that_do_not_go_together_are_refused(options, message):
    with pytest.raises(UsageError, match=message):
        bare(3, 2, **options)


def test_layers_that_start_from_zero_leave_the_features_as_they_are(reference):
    graph, x = reference.small_graph(), reference.normal(0, 7, 3, dtype=torch.float32)
    for options in ({}, {"mlp": "2x"}, {"model": "gt"}, {"model": "gcn"}, {"model": "gin"}):
        deep = bare(3, 2, layers=4, residual="identity", init="zero-last", **options).eval()
        torch.testing.assert_close(deep(graph, x), deep.decoder(deep.encoder(x)), rtol=0, atol=0)


def test_a_thousand_residual_layers_are_finite_where_maps_are_bounded(reference):
    graph, x = reference.small_graph(), reference.normal(0, 7, 3, dtype=torch.float32)
    deep = bare(3, 2, layers=1000, hidden=2, heads=2, residual="identity", norm="lip", weight_norm="fix:4/L")
    out = deep(graph, x)
    out.square().sum().backward()
    assert out.isfinite().all() and all(p.grad.isfinite().all() for p in deep.parameters())
    lengths = torch.linalg.matrix_norm(deep.blocks[-1].conv.fc.weight.unflatten(0, (2, -1)), 2)
    torch.testing.assert_close(lengths, torch.full((2,), 4 / 1000))
    assert math.isfinite(deep.encoder.weight.grad.norm())
