from types import SimpleNamespace

import pytest

from lipgnn.catalog import DOT_PRODUCT, RESIDUALS, SCORE_NORMS, ScoreNormEntry, models_with
from lipgnn.errors import UsageError
from lipgnn.spec.network import NetworkSpec
from lipgnn.spec.rules import check_network, check_recomputation
from lipgnn.spec.run import RunSpec

# The residuals that can lead from one width to another.
BY_MAPS = ("none", "linear")
PLAIN = {
    "model": "gat",
    "layers": 4,
    "hidden": 8,
    "heads": 4,
    "head_sharing": "none",
    "shared_dim": 0,
    "mixing_init": "normal",
    "activation": "relu",
    "encoder": "linear",
    "encoder_activation": "none",
    "layer_dropout": 0.0,
    "edge_dropout": 0.0,
    "norm": "none",
    "norm_place": "branch",
    "weight_norm": "none",
    "residual": "identity",
    "bias": "layers",
    "skip": "own",
    "init": "glorot",
    "jk": "none",
    "mlp": "none",
    "stack": "plain",
}
REFUSED = [
    ({"model": "gcn", "norm": "lip"}, "acts on attention scores, and model 'gcn' has none"),
    ({"model": "gt", "norm": "lip-source"}, "is of additive scores, and those of model 'gt' are dot-product"),
    ({"model": "ggnn", "weight_norm": "fix:1"}, "Weight norms bound linear maps"),
    ({"model": "ggnn", "init": "orthogonal"}, "--init orthogonal draws linear maps"),
    ({"init": "zero-last", "residual": "none"}, "nothing would be left"),
    ({"init": "zero-last", "weight_norm": "fix:4/L"}, "start at zero cannot have the length that 'fix:4/L'"),
    ({"model": "sage", "init": "balanced"}, "does not go with model 'sage'"),
    ({"activation": "elu", "init": "balanced"}, "does not go with activation 'elu'"),
    ({"residual": "gated", "init": "balanced"}, "does not go with residual 'gated'"),
    ({"residual": "none", "init": "balanced"}, "does not go with encoder activation 'none' and residual 'none'"),
    (
        {"encoder_activation": "relu", "init": "balanced"},
        "does not go with encoder activation 'relu' and residual 'identity'",
    ),
    ({"encoder": "none", "residual": "none", "init": "balanced"}, "does not go with --encoder none"),
    ({"norm": "batch", "init": "balanced"}, "does not go with norm 'batch'"),
    ({"hidden": 3, "init": "balanced"}, "does not go with heads of an odd width 3"),
    ({"mlp": "2x", "init": "balanced"}, r"does not go with MLPs \(2x\)"),
    ({"jk": "sum", "init": "balanced"}, r"does not go with joined layers \(sum\)"),
    ({"stack": "reversible", "init": "balanced"}, "does not go with a reversible stack"),
    ({"model": "gin", "residual": "initial"}, "one linear map of what is added up, which 'gin' is not"),
    ({"skip": "none"}, "'gat' has none of its own"),
    ({"stack": "reversible", "residual": "none"}, "needs a residual sum, got 'none'"),
    ({"model": "ggnn", "bias": "none"}, "--bias none takes away the biases of linear maps"),
    ({"stack": "reversible", "jk": "sum"}, "--jk sum needs those of all"),
    ({"stack": "reversible", "hidden": 3}, "hidden is 3"),
    ({"stack": "reversible", "mlp": "2x"}, "no MLPs"),
    ({"stack": "reversible", "norm_place": "sum"}, "cannot be inverted"),
]
_BARE = {"encoder": "none", "residual": "linear"}
REFUSED_WITHOUT_ENCODER = [
    *(({"encoder": "none", "residual": name}, f"residual '{name}'") for name in RESIDUALS if name not in BY_MAPS),
    *((_BARE | {"model": name}, f"model '{name}'") for name in ("gat-sep", "gin", "ggnn")),
    (_BARE | {"encoder_activation": "relu"}, "encoder activation 'relu'"),
    (_BARE | {"norm_place": "pre"}, "a norm before it"),
    ({"encoder": "none", "residual": "scaled", "stack": "reversible"}, "a reversible stack"),
]
_SHARED = {"model": "gt", "head_sharing": "collab"}
REFUSED_SHARING = [
    ({"head_sharing": "collab"}, "model 'gat' cannot share queries and keys: its scores are sums"),
    ({"model": "gat-sep", "head_sharing": "mqa"}, "'gat-sep' cannot share queries and keys: its scores are sums"),
    ({"model": "gatv2", "head_sharing": "gqa:2"}, "'gatv2' cannot share .* pass a LeakyReLU before their product"),
    ({"model": "gcn", "head_sharing": "collab"}, "'gcn' cannot share queries and keys: it has no attention scores"),
    ({"model": "gt", "shared_dim": 8}, "it is 8 while they share none"),
    ({"model": "gt", "mixing_init": "block"}, "which those of --head-sharing none do not"),
    ({"model": "gt", "head_sharing": "mqa", "mixing_init": "block"}, "which those of --head-sharing mqa do not"),
    ({"model": "gt", "head_sharing": "most"}, "head_sharing must be none, collab, mqa or gqa:G"),
    (_SHARED | {"shared_dim": 33}, "at most heads × hidden = 32, got 33"),
    (_SHARED | {"shared_dim": 10, "mixing_init": "block"}, "there are 10 for 4 heads"),
    (_SHARED | {"stack": "reversible", "shared_dim": 7}, "splits shared keys in two as well, and shared_dim is 7"),
    (_SHARED | {"stack": "reversible", "shared_dim": 12, "mixing_init": "block"}, "there are 6 for 4 heads"),
    ({"model": "gt", "head_sharing": "gqa:3"}, "needs groups of equally many heads, and heads is 4"),
    ({"model": "gt", "head_sharing": "gqa:2", "shared_dim": 5}, "into 2 equal parts, and shared_dim is 5"),
]
SHARED = [
    _SHARED,
    _SHARED | {"norm": "lip"},
    _SHARED | {"shared_dim": 32, "mixing_init": "block"},
    _SHARED | {"shared_dim": 10, "stack": "reversible"},
    {"model": "gt", "head_sharing": "mqa", "shared_dim": 5},
    {"model": "gt", "head_sharing": "gqa:2", "shared_dim": 6, "norm": "lip"},
]

ALONE = PLAIN | {"model": "aero", "residual": "none", "activation": "none"}
NOT_BETWEEN = [
    {"residual": "identity"},
    {"activation": "relu"},
    {"norm": "batch"},
    {"mlp": "2x"},
    {"jk": "sum"},
    {"stack": "reversible", "residual": "scaled"},
    {"layer_dropout": 0.1},
    {"edge_dropout": 0.1},
]


@pytest.mark.parametrize("others", NOT_BETWEEN, ids=lambda others: " ".join(others))
def test_nothing_acts_between_layers_that_pass_on_more_than_features(others):
    check_network(SimpleNamespace(**ALONE))
    with pytest.raises(UsageError, match="Layers of 'aero' pass more than features to each other") as caught:
        check_network(SimpleNamespace(**(ALONE | others)))
    assert caught.value.hint.startswith("Use --")


@pytest.mark.parametrize("others, problem", REFUSED + REFUSED_SHARING)
def test_parts_that_do_not_go_together_are_refused(others, problem):
    with pytest.raises(UsageError, match=problem) as caught:
        check_network(SimpleNamespace(**(PLAIN | others)))
    assert caught.value.hint


@pytest.mark.parametrize("kind", [RunSpec, NetworkSpec])
@pytest.mark.parametrize("others, problem", REFUSED + REFUSED_SHARING)
def test_runs_and_networks_are_held_to_it(kind, others, problem):
    with pytest.raises(UsageError, match=problem):
        kind(**(PLAIN | others))


@pytest.mark.parametrize("kind", [lambda **parts: check_network(SimpleNamespace(**parts)), NetworkSpec, RunSpec])
@pytest.mark.parametrize("others, what", REFUSED_WITHOUT_ENCODER)
def test_what_needs_one_width_throughout_needs_an_encoder(kind, others, what):
    words = f"the first layer leads from the features to the width of the network, which does not go with {what}."
    with pytest.raises(UsageError) as caught:
        kind(**(PLAIN | others))
    assert caught.value.message == f"With --encoder none {words}"
    assert caught.value.hint.startswith("Use --")
    kind(**(PLAIN | others | {"encoder": "linear"}))


@pytest.mark.parametrize("kind", [lambda **parts: check_network(SimpleNamespace(**parts)), NetworkSpec, RunSpec])
def test_one_linear_map_has_no_encoder_to_be_without(kind):
    kind(**(PLAIN | _BARE | {"layers": 1}))
    with pytest.raises(
        UsageError, match="no layers is one linear map, which does not go with --encoder none"
    ) as caught:
        kind(**(PLAIN | _BARE | {"layers": 0}))
    assert caught.value.hint == "Use --encoder linear."


@pytest.mark.parametrize("model", models_with("value_map"))
@pytest.mark.parametrize("residual", BY_MAPS)
@pytest.mark.parametrize("more", [{}, {"mlp": "2x", "jk": "concat", "norm_place": "sum"}, {"weight_norm": "cap:1"}])
def test_layers_of_any_width_need_no_encoder(model, residual, more):
    check_network(SimpleNamespace(**(PLAIN | _BARE | {"model": model, "residual": residual} | more)))


@pytest.mark.parametrize("change", [{}, *({"norm": name} for name in SCORE_NORMS), {"stack": "reversible"}, *SHARED])
def test_parts_that_go_together_are_not_refused(change):
    check_network(SimpleNamespace(**(PLAIN | change)))


def test_a_norm_must_know_scores_of_shared_queries_and_keys(monkeypatch):
    entry = ScoreNormEntry("a norm of heads apart", implementations={DOT_PRODUCT: "nowhere:Nothing"})
    monkeypatch.setitem(SCORE_NORMS, "apart", entry)
    check_network(SimpleNamespace(**(PLAIN | {"model": "gt", "norm": "apart", "head_sharing": "mqa"})))
    with pytest.raises(UsageError, match="is of dot-product scores, and those of model 'gt' are shared-product"):
        check_network(SimpleNamespace(**(PLAIN | _SHARED | {"norm": "apart"})))


@pytest.mark.parametrize("others", [others for others, _ in REFUSED if len(others) == 2])
def test_it_takes_both_to_be_refused(others):
    name, value = next(iter(others.items()))
    check_network(SimpleNamespace(**(PLAIN | {name: value})))


def test_where_no_activations_are_kept_none_are_kept_less_often():
    check_recomputation("plain", 2)
    check_recomputation("reversible", 0)
    with pytest.raises(UsageError, match="recompute_every is 2"):
        check_recomputation("reversible", 2)
