import pytest
import torch
from networks import BARE

from lipgnn.catalog import models_with
from lipgnn.network.blocks import Block
from lipgnn.network.build import Builder, example_block
from lipgnn.network.deep import DeepGNN
from lipgnn.network.reversible import ReversibleBlock
from lipgnn.nn import GroupedHeadsConv, Mlp, SharedHeadsConv
from lipgnn.spec.network import NetworkSpec


def test_blocks_have_the_parts_that_were_asked_for():
    block = Builder(NetworkSpec(model="gcn", norm="layer", norm_place="sum", mlp="2x", residual="identity")).block(1)
    assert isinstance(block, Block) and block.norm is None and block.sum_norm is not None
    assert isinstance(block.mlp.conv, Mlp) and block.mlp.sum_norm is not None and block.mlp.residual == "identity"
    halves = Builder(NetworkSpec(stack="reversible", residual="scaled", layers=4)).block(1)
    assert isinstance(halves, ReversibleBlock) and halves.scale == 0.5
    assert halves.f.conv.fc.weight.shape == (32, 32)


SHARED = [("collab", SharedHeadsConv), ("mqa", GroupedHeadsConv), ("gqa:4", GroupedHeadsConv)]


@pytest.mark.parametrize("stack", ["plain", "reversible"])
@pytest.mark.parametrize("sharing, kind", SHARED)
def test_heads_share_what_was_asked_for_in_a_block_and_in_its_example(sharing, kind, stack):
    options = {"hidden": 8, "shared_dim": 16, "residual": "scaled", "stack": stack}
    spec = NetworkSpec(model="gt", head_sharing=sharing, **options)
    block, example = Builder(spec).block(1), example_block(spec)
    assert type(block.parts[0]) is type(example.parts[0]) is kind
    assert block.parts[0].shared_dim == (16 if stack == "plain" else 8)


@pytest.mark.parametrize("init", ["glorot", "pyg", "torch-ends", "orthogonal", "zero-last"])
@pytest.mark.parametrize("weight_norm", ["none", "cap:0.5"])
@pytest.mark.parametrize("sharing, kind", SHARED)
def test_maps_of_shared_heads_are_drawn_and_bounded_like_others(sharing, kind, weight_norm, init):
    options = {"residual": "identity", "init": init, "weight_norm": weight_norm, "bias": "layers"}
    torch.manual_seed(0)
    conv = Builder(NetworkSpec(model="gt", head_sharing=sharing, shared_dim=16, **options)).block(1).conv
    lengths = [torch.linalg.matrix_norm(head, 2) for head in conv.key.weight.unflatten(0, (conv.maps[1].heads, -1))]
    if weight_norm != "none":
        assert all(length <= 0.5 + 1e-5 for length in lengths)
    elif init == "orthogonal":
        torch.testing.assert_close(torch.stack(lengths), torch.ones(len(lengths)))
    assert conv.value.weight.any() == (init != "zero-last")


@pytest.mark.parametrize("init, beside", [("glorot", 1 / 3), ("pyg", 1 / 3), ("torch-ends", 1)])
def test_ends_and_the_map_of_residual_linear_start_as_torch_or_glorot_draws_them(init, beside):
    """Torch draws from U(±1/√n) for n inputs, of variance 1/(3n); Glorot has 2/(n + m) for m outputs, 1/n if m = n."""
    torch.manual_seed(0)
    deep = DeepGNN(NetworkSpec(model="gat", norm="none", hidden=128, heads=1, residual="linear", init=init), 128, 128)
    assert 128 * deep.blocks[0].beside.weight.var().item() == pytest.approx(beside, rel=0.05)
    for end in (deep.encoder, deep.decoder):
        assert 128 * end.weight.var().item() == pytest.approx(1 if init == "glorot" else 1 / 3, rel=0.05)
        assert end.bias.any() == (init != "glorot")


@pytest.mark.parametrize(
    "model, named",
    [("gat", {"fc": "lin", "attn_l": "att_src", "attn_r": "att_dst"}), ("gatv2", {"fc_src": "lin_l", "attn": "att"})],
)
def test_layers_start_as_those_of_pyg_draw_themselves(model, named, pyg):
    """The largest of many entries says how wide a uniform distribution is."""
    kind = getattr(pyg, {"gat": "GATConv", "gatv2": "GATv2Conv"}[model])
    torch.manual_seed(0)
    spec = NetworkSpec(model=model, norm="none", hidden=500, heads=4, residual="linear", init="pyg")
    ours, theirs = Builder(spec).block(1).conv, kind(2000, 500, heads=4)
    for name, other in named.items():
        drawn, reference = (getattr(part, "weight", part) for part in (getattr(ours, name), getattr(theirs, other)))
        assert drawn.shape == reference.shape
        assert drawn.abs().max().item() == pytest.approx(reference.abs().max().item(), rel=0.01)
        assert drawn.var().item() == pytest.approx(reference.var().item(), rel=0.1)


def test_maps_near_the_identity_come_nearer_with_depth():
    builder = Builder(NetworkSpec(model="gcn", norm="none", residual="initial", beta=0.5))
    betas = [builder.block(layer).conv.parametrizations.weight[0].beta for layer in (1, 2, 10)]
    # log(0.5/l + 1) for l = 1, 2, 10, by a table of logarithms.
    assert betas == pytest.approx([0.405465, 0.223144, 0.048790], abs=1e-6)


@pytest.mark.parametrize("stack", ["plain", "reversible"])
def test_an_example_has_the_parts_of_the_network_and_draws_nothing(stack):
    options = {"norm": "lip+batch", "norm_place": "pre", "residual": "scaled", "weight_norm": "fix:2/L"}
    spec = NetworkSpec(model="gt", stack=stack, **options)
    torch.manual_seed(0)
    example = example_block(spec)
    drawn = torch.rand(1)
    torch.manual_seed(0)
    assert torch.equal(torch.rand(1), drawn)
    kinds = [[type(part) for part in block.parts] for block in (example, Builder(spec).block(1))]
    assert kinds[0] == kinds[1] and len(kinds[0]) == (2 if stack == "plain" else 4)


def test_the_parts_of_a_block_are_its_layers_and_norms():
    block = Builder(NetworkSpec(norm="lip+layer", norm_place="sum", mlp="2x", residual="identity")).block(1)
    assert block.parts == [block.conv, block.sum_norm, block.mlp.conv, block.mlp.sum_norm]


@pytest.mark.parametrize("stack", ["plain", "reversible"])
def test_layers_that_tell_types_of_edges_apart_are_made_for_those_of_the_data(stack):
    residual = "scaled" if stack == "reversible" else "none"
    spec = NetworkSpec(**{**BARE, "residual": residual}, model="gt", layers=2, hidden=2, heads=2, stack=stack)
    codes = [name for name, _ in DeepGNN(spec, 3, 2, edge_types=5).named_parameters() if "edge_type" in name]
    assert len(codes) == (4 if stack == "reversible" else 2)
    assert not [name for name, _ in DeepGNN(spec, 3, 2).named_parameters() if "edge_type" in name]


@pytest.mark.parametrize("model", ["gat", "gcn", "gin"])
def test_other_layers_are_as_without_types(model):
    spec = NetworkSpec(**BARE, model=model, layers=1, hidden=2, heads=2)
    assert DeepGNN(spec, 3, 2, edge_types=5).state_dict().keys() == DeepGNN(spec, 3, 2).state_dict().keys()


BARE_LINEAR = {"encoder": "none", "encoder_activation": "none", "residual": "linear", "hidden": 4, "heads": 2}


@pytest.mark.parametrize("in_feats", [5, 8, 13])
@pytest.mark.parametrize("model", models_with("value_map"))
def test_the_first_block_leads_from_the_features_to_the_width_and_no_other_does(model, in_feats):
    builder = Builder(NetworkSpec(**BARE_LINEAR, model=model, norm="none"), in_feats=in_feats)
    first, second = builder.block(1), builder.block(2)
    for block, own in ((first, in_feats), (second, 8)):
        assert block.beside.weight.shape == (8, own)
        assert {sorted(each.weight.shape) == sorted((8, own)) for each in block.conv.maps} == {True}
    assert example_block(builder.spec).beside.weight.shape == (2, 2)


@pytest.mark.parametrize("sharing, kind", SHARED)
def test_keys_that_are_shared_are_as_wide_in_the_first_layer_as_in_others(sharing, kind):
    spec = NetworkSpec(**BARE_LINEAR, model="gt", norm="lip", head_sharing="gqa:2" if "gqa" in sharing else sharing)
    first, second = (Builder(spec, in_feats=5).block(layer).conv for layer in (1, 2))
    assert type(first) is kind and first.shared_dim == second.shared_dim
    assert first.key.weight.shape == (len(second.key.weight), 5)


@pytest.mark.parametrize("model", models_with("value_map"))
def test_maps_from_the_features_are_drawn_and_bounded_like_others(model):
    torch.manual_seed(0)
    options = {**BARE_LINEAR, "model": model, "norm": "none", "hidden": 128}

    def first(**more):
        block = Builder(NetworkSpec(**options, **more), in_feats=64).block(1)
        return [*(each.weight for each in block.conv.maps), block.beside.weight]

    for weight in first(init="pyg")[:-1]:
        # Glorot's: U(±√(6/(n + m))) for n inputs and m outputs.
        assert weight.abs().max().item() == pytest.approx((6 / (64 + 256)) ** 0.5, rel=0.01)
    # Torch's: U(±1/√n).
    assert first(init="pyg")[-1].abs().max().item() == pytest.approx(1 / 8, rel=0.01)
    for weight in first(weight_norm="cap:0.5"):
        assert torch.linalg.matrix_norm(weight, 2) <= (2 * 0.25) ** 0.5 + 1e-5
