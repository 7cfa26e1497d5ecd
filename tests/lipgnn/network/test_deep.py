"""The deep stack: every model with every norm, any depth, sparse features, and no tensor on a default device."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from networks import BARE, bare, network_of
from torch import nn

from lipgnn.catalog import FEATURE_NORMS, MODELS, STACKS, models_with
from lipgnn.errors import UsageError
from lipgnn.network.blocks import Branch
from lipgnn.network.build import ACTIVATIONS
from lipgnn.network.deep import DeepGNN
from lipgnn.nn.contract import attended
from lipgnn.spec.run import RunSpec

ATTENTION_MODELS = models_with("attention")
# Those around which anything may be put; the others have tests of their own.
OPEN = [name for name in MODELS if name not in models_with("closed")]
NORMS = ["none", *FEATURE_NORMS]
PAIRS = [
    *itertools.product(OPEN, NORMS),
    *itertools.product(ATTENTION_MODELS, ["lip", *(f"lip+{name}" for name in FEATURE_NORMS)]),
]
RESIDUALS = ["none", "identity", "scaled"]


def network(reference, *, seed: int = 1, **options) -> DeepGNN:
    """Three features, two classes, width 2 · 2, in float64, without dropout unless asked for."""
    return reference.redraw(bare(3, 2, **{"layers": 3, "hidden": 2, "heads": 2} | options), seed=seed)


def sparse_features(reference) -> torch.Tensor:
    """(7, 3), about half zeros, one row all zero."""
    x = reference.normal(5, 7, 3)
    x[reference.normal(6, 7, 3) > 0] = 0
    x[3] = 0
    return x


@pytest.mark.parametrize("layers", [1, 2, 64])
@pytest.mark.parametrize("model", OPEN)
def test_any_depth_builds_and_has_finite_gradients(model, layers, reference):
    torch.manual_seed(0)
    deep = bare(3, 2, model=model, layers=layers, hidden=2, heads=2)
    assert len(deep.blocks) == layers
    out = deep(reference.small_graph(), reference.normal(0, 7, 3, dtype=torch.float32))
    out.square().sum().backward()
    assert out.shape == (7, 2) and out.isfinite().all()
    assert all(parameter.grad.isfinite().all() for parameter in deep.parameters())


@pytest.mark.parametrize(
    ("model", "residual"), [("gat", "scaled"), ("gt", "none"), ("gcn", "none"), ("gin", "none"), ("ggnn", "none")]
)
def test_a_thousand_layers_are_finite_at_the_start(model, residual, reference):
    torch.manual_seed(0)
    options = {"norm": "lip"} if model in ATTENTION_MODELS else {}
    deep = bare(3, 2, model=model, layers=1000, hidden=2, heads=2, residual=residual, **options)
    path = [(i, (i + 1) % 5) for i in range(5)]
    graph = reference.build(path + [(i, i) for i in range(5)], nodes=5)
    with torch.no_grad():
        assert deep(graph, reference.normal(0, 5, 3, dtype=torch.float32)).isfinite().all()


def test_lipschitz_norm_keeps_a_gradient_at_the_first_of_64_layers(reference):
    torch.manual_seed(0)
    deep = bare(3, 2, layers=64, hidden=2, heads=2, norm="lip", residual="scaled")
    deep(reference.small_graph(), reference.normal(0, 7, 3, dtype=torch.float32)).square().sum().backward()
    for parameter in (deep.blocks[0].conv.fc.weight, deep.blocks[0].conv.attn_l, deep.encoder.weight):
        assert parameter.grad.isfinite().all() and parameter.grad.any()


@pytest.mark.parametrize(("model", "norm"), PAIRS)
def test_every_model_with_every_norm_trains_all_of_its_parameters(model, norm, reference):
    torch.manual_seed(0)
    options = {"layers": 3, "hidden": 2, "heads": 2, "residual": "identity", "dropout": 0.1, "attn_dropout": 0.1}
    deep = bare(3, 2, model=model, norm=norm, **options)
    out = deep(reference.small_graph(), reference.normal(0, 7, 3, dtype=torch.float32))
    assert out.shape == (7, 2) and out.isfinite().all()
    nn.functional.cross_entropy(out, torch.arange(7) % 2).backward()
    for name, parameter in deep.named_parameters():
        assert parameter.grad is not None and parameter.grad.isfinite().all(), name
    assert deep.encoder.weight.grad.any() and deep.blocks[0].conv.get_parameter(_weight(model)).grad.any()


def _weight(model: str) -> str:
    """The name of the weight that every message of a layer passes."""
    return {
        "gat": "fc.weight",
        "gat-sep": "fc.weight",
        "gatv2": "fc_src.weight",
        "gt": "value.weight",
        "gcn": "weight",
        "sage": "value.weight",
        "gin": "apply_func.0.weight",
        "ggnn": "linears.0.weight",
    }[model]


@pytest.mark.parametrize(("model", "norm"), PAIRS)
@pytest.mark.parametrize("residual", RESIDUALS)
def test_the_stack_is_the_composition_of_its_parts(residual, model, norm, reference):
    graph, x = reference.small_graph(), reference.normal(0, 7, 3)
    deep = network(reference, model=model, norm=norm, residual=residual).eval()
    expected = x @ deep.encoder.weight.t() + deep.encoder.bias
    for block in deep.blocks:
        y = block.conv(graph, expected).flatten(1)
        y = y if norm in ("none", "lip") else block.norm(graph, y)
        y = torch.where(y > 0, y, torch.expm1(y.clamp(max=0)))  # ELU
        expected = {"none": y, "identity": expected + y, "scaled": expected + y / math.sqrt(3)}[residual]
    expected = expected @ deep.decoder.weight.t() + deep.decoder.bias
    torch.testing.assert_close(deep(graph, x), expected)


@pytest.mark.parametrize("model", models_with("linear_maps"))
def test_without_biases_encoder_and_decoder_alone_have_them(model, reference):
    norm = "lip" if model in ATTENTION_MODELS else "none"
    deep = bare(3, 2, model=model, layers=2, hidden=2, heads=2, norm=norm, mlp="2x", residual="linear", bias="none")
    found = [name for name, parameter in deep.named_parameters() if name.endswith("bias") and "norm" not in name]
    # The bias of GIN's BatchNorm is that of a norm.
    assert [name for name in found if "apply_func.1." not in name] == ["encoder.bias", "decoder.bias"]
    out = deep(reference.small_graph(), reference.normal(0, 7, 3, dtype=torch.float32))
    nn.functional.cross_entropy(out, torch.arange(7) % 2).backward()
    assert all(parameter.grad is not None for parameter in deep.parameters())


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_an_activation_may_stand_behind_the_encoder(form, reference):
    graph, x = reference.small_graph(), reference.normal(0, 7, 3)
    deep = network(reference, encoder_activation="relu").eval()
    first = (x @ deep.encoder.weight.t() + deep.encoder.bias).clamp(min=0)
    seen = []
    deep.blocks[0].register_forward_pre_hook(lambda _, given: seen.append(given[1]))
    deep(graph, x.to_sparse() if form == "sparse" else x)
    torch.testing.assert_close(seen[0], first)


def test_layers_share_no_weights(reference):
    deep = bare(3, 2, layers=3, hidden=2, heads=2, norm="lip+layer")
    pointers = [parameter.data_ptr() for parameter in deep.parameters()]
    assert len(set(pointers)) == len(pointers) == 4 + 3 * 6


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_activations(activation, reference):
    graph, x = reference.small_graph(), reference.normal(0, 7, 3)
    deep = network(reference, layers=1, activation=activation)
    y = deep.blocks[0].conv(graph, deep.encoder(x)).flatten(1)
    apply = {
        "elu": nn.functional.elu,
        "relu": torch.relu,
        "leaky-relu": lambda y: torch.maximum(y, 0.2 * y),
        "gelu": lambda y: y * torch.special.ndtr(y),
        "tanh": torch.tanh,
        "none": lambda y: y,
    }[activation]
    torch.testing.assert_close(deep(graph, x), deep.decoder(apply(y)))


def test_the_norm_and_kappa_reach_every_layer(reference):
    for model in ATTENTION_MODELS:
        deep = bare(3, 2, model=model, layers=3, norm="pair-si+lip", kappa=0.25)
        assert [block.conv.norm.kappa for block in deep.blocks] == [0.25] * 3
        assert all(block.norm.individually for block in deep.blocks)
        assert all(block.conv.norm is None for block in bare(3, 2, model=model, norm="pair").blocks)


def test_dropout_before_encoder_and_decoder_and_on_attention_in_training_only(reference):
    graph, x = reference.small_graph(), reference.normal(0, 7, 3)
    plain = network(reference)(graph, x)
    for options in ({"dropout": 0.5}, {"layer_dropout": 0.5}, {"attn_dropout": 0.5}):
        deep = network(reference, **options)
        assert not torch.allclose(deep(graph, x), plain)
        torch.testing.assert_close(deep.eval()(graph, x), plain, atol=0, rtol=0)
    # With everything dropped before the decoder, only its bias is left.
    deep = network(reference)
    deep.dropout.p = 1.0
    torch.testing.assert_close(deep(graph, x), deep.decoder.bias.expand(7, 2))


@pytest.mark.parametrize("stack", STACKS)
def test_dropout_of_a_layer_leaves_its_residual_alone(stack, reference):
    """With all inputs of the layers dropped and biases of zero, what is left is the residual connection."""
    graph, x = reference.small_graph(), reference.normal(0, 7, 3)
    deep = network(reference, layer_dropout=0.5, residual="identity", stack=stack)
    for branch in (module for module in deep.modules() if isinstance(module, Branch)):
        branch.dropout.p = 1.0
        nn.init.zeros_(branch.conv.bias)
    torch.testing.assert_close(deep(graph, x), deep.decoder(deep.encoder(x)))


def test_unknown_names_are_refused_with_the_valid_ones():
    with pytest.raises(UsageError, match="Unknown value of model 'gta'") as caught:
        bare(3, 2, model="gta")
    assert all(name in caught.value.hint for name in MODELS)
    with pytest.raises(UsageError, match="Unknown norm 'lipp'"):
        bare(3, 2, norm="lipp+pair")


def test_a_specification_builds_the_network_it_describes(reference):
    values = {
        "model": "gt",
        "layers": 3,
        "hidden": 2,
        "heads": 2,
        "norm": "lip+layer",
        "kappa": 0.5,
        "residual": "scaled",
        "activation": "tanh",
        "dropout": 0.25,
        "layer_dropout": 0.5,
        "attn_dropout": 0.125,
    }
    spec = RunSpec(**{**BARE, **values}, dtype="float64")
    torch.manual_seed(0)
    built = network_of(spec, 3, 2)
    torch.manual_seed(0)
    direct = bare(3, 2, **values).double()
    assert repr(built) == repr(direct)
    assert all(parameter.dtype == torch.float64 for parameter in built.parameters())
    graph, x = reference.small_graph(), reference.normal(0, 7, 3)
    torch.testing.assert_close(built.eval()(graph, x), direct.eval()(graph, x), atol=0, rtol=0)
    assert (built.encoder.dropout.p, built.dropout.p) == (0.25, 0.25)
    assert (built.blocks[0].dropout.p, built.blocks[0].conv.attn_drop.p) == (0.5, 0.125)


@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("norm", ["none", "lip", "lip+pair"])
@pytest.mark.parametrize("model", ATTENTION_MODELS)
def test_attention_of_every_layer(model, norm, form, reference):
    graph, x = reference.small_graph(), sparse_features(reference)
    deep = network(reference, model=model, norm=norm, residual="identity").eval()
    weights = deep.attention(graph, x if form == "dense" else x.to_sparse().coalesce())
    assert len(weights) == 3
    inputs = deep.encoder(x)
    for block, attention in zip(deep.blocks, weights, strict=True):
        assert attention.shape == (graph.num_edges(), 2) and not attention.requires_grad
        sums = torch.zeros(7, 2).double().index_add(0, graph.edges()[1], attention)
        entered = attended(block.parts, graph).in_degrees() > 0
        torch.testing.assert_close(sums, entered.double().unsqueeze(1).expand(7, 2))
        torch.testing.assert_close(attention, block.conv(graph, inputs, get_attention=True)[1].squeeze(-1))
        inputs = block(graph, inputs)


@pytest.mark.parametrize("model", sorted(set(OPEN) - set(ATTENTION_MODELS)))
def test_models_without_attention_say_so(model, reference):
    with pytest.raises(UsageError, match="no attention weights"):
        network(reference, model=model).attention(reference.small_graph(), reference.normal(0, 7, 3))


@pytest.fixture
def meta_device():
    """Torch's default device set to one that holds no data, so that a tensor created without a device fails."""
    yield lambda: torch.set_default_device("meta")
    torch.set_default_device(None)


@pytest.mark.parametrize(("model", "norm"), PAIRS)
def test_nothing_is_created_on_a_default_device(model, norm, reference, meta_device):
    graph, x, labels = reference.small_graph(), reference.normal(0, 7, 3), torch.arange(7) % 2
    deep = network(reference, model=model, norm=norm, residual="identity", dropout=0.1, attn_dropout=0.1)
    optimizer = torch.optim.Adam(deep.parameters(), lr=0.1)
    before = [parameter.detach().clone() for parameter in deep.parameters()]
    meta_device()
    loss = nn.functional.cross_entropy(deep(graph, x), labels)
    loss.backward()
    optimizer.step()
    assert math.isfinite(loss.item()) and loss.device.type == "cpu"
    assert any(not torch.equal(old, new) for old, new in zip(before, deep.parameters(), strict=True))
    deep.eval()
    assert deep(graph, x).isfinite().all()
    if model in ATTENTION_MODELS:
        assert deep.attention(graph, x)[0].device.type == "cpu"
        assert deep.blocks[0].conv.lipschitz_bound(graph) > 0


@pytest.mark.parametrize("residual", RESIDUALS)
@pytest.mark.parametrize("norm", ["layer", "lip+pair"])
def test_a_norm_may_act_after_the_sum(residual, norm, reference):
    """x ← norm(x + s·σ(conv(x))), written out."""
    graph, x = reference.small_graph(), reference.normal(0, 7, 3)
    deep = network(reference, norm=norm, residual=residual, norm_place="sum", activation="relu")
    expected = deep.encoder(x)
    for block in deep.blocks:
        assert block.norm is None
        step = block.conv(graph, expected).flatten(1).relu()
        total = {"none": step, "identity": expected + step, "scaled": expected + step / math.sqrt(3)}[residual]
        expected = block.sum_norm(graph, total)
    torch.testing.assert_close(deep(graph, x), deep.decoder(expected))


def test_layer_norm_after_the_sum_is_over_the_whole_width(reference):
    """Of 4 heads of 8 channels, all 32 together."""
    spec = RunSpec(dataset="trees:3", hidden=8, heads=4, norm="layer", norm_place="sum", residual="identity")
    block = network_of(spec, 9, 9).blocks[0]
    assert block.sum_norm.weight.shape == (32,)


def test_trees_have_tables_and_no_bias():
    deep = network_of(RunSpec(dataset="trees:3", layers=2), 9, 9)
    assert {name for name, _ in deep.named_parameters() if "coder" in name} == {
        "encoder.key.weight",
        "encoder.value.weight",
        "decoder.weight",
    }


@pytest.mark.parametrize(
    "options",
    [
        {"residual": "initial", "layers": 10},
        {"residual": "linear", "jk": "concat"},
        {"residual": "scaled", "stack": "reversible"},
    ],
    ids=lambda options: options["residual"],
)
def test_from_the_encoder_on_it_is_the_same_network(options, reference):
    deep, graph, x = network(reference, **options).eval(), reference.small_graph(), reference.normal(5, 7, 3)
    h, logits = deep.from_encoder(graph, x)
    assert h.is_leaf and torch.equal(h, deep.encode(x))
    torch.testing.assert_close(logits, deep(graph, x))
    (found,) = torch.autograd.grad(logits.sum(), h, retain_graph=True)
    start = h.detach().requires_grad_()
    (expected,) = torch.autograd.grad(deep.decoder(deep.body(graph, start)).sum(), start)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(torch.autograd.grad(logits.sum(), h)[0], expected)


def test_of_many_layers_the_inputs_of_few_are_kept(reference):
    """Of 100 layers: every tenth input, and the last ten layers, as far as they keep anything."""
    deep, kept = network(reference, layers=100).eval(), []

    def keep(tensor):
        kept.append(tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        deep.from_encoder(reference.small_graph(), reference.normal(5, 7, 3))
    few = len(kept)
    kept.clear()
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        deep(reference.small_graph(), reference.normal(5, 7, 3))
    assert few < len(kept) / 5


@pytest.mark.parametrize("bias", ["layers", "none"])
@pytest.mark.parametrize("sparse", [True, False])
def test_no_layers_are_one_linear_map_of_the_features(bias, sparse, reference):
    made = network(reference, layers=0, bias=bias)
    x = sparse_features(reference)
    assert len(made.blocks) == 0
    assert not made.has_attention
    assert not made.differs_in_training
    expected = {"decoder.weight": (2, 3)} | ({"decoder.bias": (2,)} if bias == "layers" else {})
    assert {name: tuple(p.shape) for name, p in made.named_parameters()} == expected
    by_hand = x @ made.decoder.weight.T + (made.decoder.bias if bias == "layers" else 0)
    found = made(reference.small_graph(), x.to_sparse().coalesce() if sparse else x)
    torch.testing.assert_close(found, by_hand)


@pytest.mark.parametrize("option", [{"jk": "sum"}, {"stack": "reversible", "residual": "identity"}])
def test_what_no_layers_cannot_have_is_refused(option):
    with pytest.raises(UsageError, match="A network of no layers is one linear map"):
        bare(3, 2, layers=0, **option)


WITHOUT_ENCODER = [(model, residual) for model in models_with("value_map") for residual in ("none", "linear")]


@pytest.mark.parametrize(("model", "residual"), WITHOUT_ENCODER)
@pytest.mark.parametrize("in_feats", [2, 4, 9])
def test_without_an_encoder_the_first_layer_is_given_the_features(in_feats, model, residual, reference):
    graph, x = reference.small_graph(), reference.normal(5, 7, in_feats)
    deep = reference.redraw(
        bare(in_feats, 2, encoder="none", model=model, residual=residual, layers=3, hidden=2, heads=2), seed=1
    ).eval()
    expected = x
    for block in deep.blocks:
        y = block.conv(graph, expected).flatten(1)
        y = y if residual == "none" else y + expected @ block.beside.weight.t()
        expected = torch.where(y > 0, y, torch.expm1(y.clamp(max=0)))  # ELU
    expected = expected @ deep.decoder.weight.t() + deep.decoder.bias
    torch.testing.assert_close(deep(graph, x), expected)
    assert not [name for name in deep.state_dict() if name.startswith("encoder")]


@pytest.mark.parametrize("jk", ["none", "concat"])
@pytest.mark.parametrize("norm", ["none", "lip+batch"])
@pytest.mark.parametrize(("model", "residual"), WITHOUT_ENCODER)
def test_without_an_encoder_all_parameters_learn(model, residual, norm, jk, reference):
    torch.manual_seed(0)
    norm = norm if model in ATTENTION_MODELS else norm.removeprefix("lip+")
    deep = bare(3, 2, encoder="none", model=model, residual=residual, norm=norm, jk=jk, layers=3, hidden=2, heads=2)
    before = [parameter.detach().clone() for parameter in deep.parameters()]
    optimizer = torch.optim.Adam(deep.parameters(), lr=0.1)
    out = deep(reference.small_graph(), reference.normal(0, 7, 3, dtype=torch.float32))
    nn.functional.cross_entropy(out, torch.arange(7) % 2).backward()
    for name, parameter in deep.named_parameters():
        assert parameter.grad is not None and parameter.grad.isfinite().all(), name
    optimizer.step()
    # A bias before BatchNorm, or one that all scores of a node share, has a gradient of zero.
    changed = [not torch.equal(p, old) for p, old in zip(deep.parameters(), before, strict=True) if old.dim() > 1]
    assert changed and all(changed)


@pytest.mark.parametrize("kernel", ["dgl", "auto"])
@pytest.mark.parametrize(("model", "residual"), WITHOUT_ENCODER)
def test_without_an_encoder_sparse_features_are_the_same_and_so_is_every_kernel(model, residual, kernel, reference):
    graph, x = reference.small_graph(), sparse_features(reference)
    options = {"encoder": "none", "model": model, "residual": residual, "norm": "batch", "activation": "relu"}
    deep = network(reference, kernel=kernel, **options)
    dense, sparse = deep(graph, x), deep(graph, x.to_sparse().coalesce())
    assert torch.equal(dense, sparse)
    other = network(reference, kernel="dgl", **options)
    torch.testing.assert_close(dense, other(graph, x))
    ours, theirs = (
        torch.autograd.grad(each(graph, x).square().sum(), list(each.parameters())) for each in (deep, other)
    )
    torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("place", ["input", "layers"])
def test_without_an_encoder_the_first_layer_drops_of_the_features_where_dropout_begins_there(place, reference):
    graph, x = reference.small_graph(), torch.ones(7, 100, dtype=torch.float64)
    options = {"dropout": 0.9, "layer_dropout": 0.5, "dropout_from": place, "residual": "linear"}
    deep = reference.redraw(bare(100, 2, encoder="none", layers=2, hidden=2, heads=2, **options), seed=1)
    seen = []
    deep.blocks[0].conv.register_forward_pre_hook(lambda module, given: seen.append(given[1]))
    deep.train()(graph, x)
    deep.eval()(graph, x)
    share = (seen[0] == 0).double().mean().item()
    assert share == pytest.approx(0.5 if place == "input" else 0.0, abs=0.1)
    assert set(seen[0].unique().tolist()) == ({0.0, 2.0} if place == "input" else {1.0})
    assert torch.equal(seen[1], x)


@pytest.mark.parametrize("every", [1, 2, 3])
def test_without_an_encoder_activations_computed_again_are_the_same(every, reference):
    graph, x = reference.small_graph(), reference.normal(5, 7, 9)
    gradients = []
    for kept in (0, every):
        deep = reference.redraw(
            bare(9, 2, encoder="none", residual="linear", norm="batch", layers=5, hidden=2, heads=2), seed=1
        ).train()
        deep.recompute_every = kept
        gradients.append(torch.autograd.grad(deep(graph, x).square().sum(), list(deep.parameters())))
    assert all(torch.equal(one, other) for one, other in zip(*gradients, strict=True))
