import shlex

import pytest

from lipgnn.catalog import DATASETS, MODELS, SUMS_RECIPE, layers_for
from lipgnn.errors import UsageError
from lipgnn.spec.options import default_of
from lipgnn.spec.run import FIELDS, RunSpec
from lipgnn.spec.sources import as_typed, command_for, resolve, unknown_variables


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "run.toml"
    path.write_text("# a run\nlayers = 3\nlr = 0.01\nnorm = 'pair'\n")
    return path


def test_flag_beats_variable_beats_file_beats_built_in(file):
    environ = {"LIPGNN_LAYERS": "4", "LIPGNN_LR": "0.02"}
    resolved = resolve({"layers": "5"}, environ, file)
    assert (resolved.spec.layers, resolved.spec.lr, resolved.spec.norm) == (5, 0.02, "pair")
    assert resolved.spec.hidden == FIELDS["hidden"].default
    assert resolved.sources["layers"] == "flag"
    assert resolved.sources["lr"] == "variable LIPGNN_LR"
    assert resolved.sources["norm"] == f"file {file}"
    assert resolved.sources["hidden"] == "built-in"


def test_a_preset_gives_way_to_what_was_asked_for_and_is_named(tmp_path):
    resolved = resolve({"layers": 128, "lr": 0.25}, {"LIPGNN_NORM": "none"}, preset="deep")
    assert (resolved.spec.lr, resolved.spec.norm) == (0.25, "none")
    assert (resolved.spec.residual, resolved.sources["residual"]) == ("identity", "preset deep")
    assert resolved.sources["weight_norm"] == "preset deep" and resolved.spec.weight_norm != "none"


@pytest.mark.parametrize("place", ["flag", "variable"])
@pytest.mark.parametrize("name", list(FIELDS))
def test_no_default_overrides_what_was_asked_for(name, place):
    """For every option, also where data set and model have defaults of their own."""
    value = default_of(FIELDS[name])
    dataset = {"paths": "planar", "images": "digits", None: "texas"}[FIELDS[name].metadata.get("task")]
    given = {"dataset": dataset, "model": "gt", name: value}
    environ = {f"LIPGNN_{k.upper()}": str(v) for k, v in given.items()}
    resolved = resolve(given, {}) if place == "flag" else resolve({}, environ)
    assert resolved.sources[name] == ("flag" if place == "flag" else f"variable LIPGNN_{name.upper()}")
    # Of `auto`, the metric of the data set is another spelling.
    assert getattr(resolved.spec, name) == (value if value != "auto" or name != "metric" else "accuracy")


def test_data_set_and_model_defaults_apply_and_are_named():
    resolved = resolve({"dataset": "texas", "model": "gt"}, {})
    assert resolved.spec.split == DATASETS["texas"].defaults["split"]
    assert resolved.sources["split"] == "default of data set texas"
    assert resolved.spec.kappa == MODELS["gt"].defaults["kappa"]
    assert resolved.sources["kappa"] == "default of model gt"


@pytest.mark.parametrize("model", layers_for("nodes"))
def test_every_model_has_defaults_that_run(model):
    assert resolve({"model": model}, {}).spec.model == model


def test_toml_round_trip_says_where_values_came_from(tmp_path):
    resolved = resolve({"layers": 30, "lr": 0.1 + 0.2, "dataset": "a\"b'c\n.npz"}, {})
    path = tmp_path / "again.toml"
    path.write_text(resolved.to_toml())
    assert resolve({}, {}, path).spec == resolved.spec
    assert "layers = 30 # flag" in resolved.to_toml()
    assert "heads = 8 # built-in" in resolved.to_toml()


@pytest.mark.parametrize(
    "text, message",
    [
        ("layrs = 3", "Unknown option in file"),
        ("layers = 'x'", "layers must be a whole number, got 'x'. (from file"),
        ("layers = ", "Cannot read the configuration"),
        ("[train]\nlayers = 3", "Unknown option in file"),
    ],
)
def test_a_wrong_file_is_refused_by_name(tmp_path, text, message):
    path = tmp_path / "run.toml"
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        resolve({}, {}, path)
    assert message in caught.value.message
    assert str(path) in caught.value.message


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(UsageError, match="Cannot read the configuration"):
        resolve({}, {}, tmp_path / "none.toml")


def test_a_wrong_variable_is_refused_with_its_place():
    with pytest.raises(UsageError, match=r"got 'many'\. \(from variable LIPGNN_LAYERS\)"):
        resolve({}, {"LIPGNN_LAYERS": "many"})


def test_unknown_variables_are_found():
    environ = {"LIPGNN_LAYRES": "3", "LIPGNN_LAYERS": "3", "LIPGNN_DATA": "d", "PATH": "p"}
    assert unknown_variables(environ) == ["LIPGNN_LAYRES"]


@pytest.mark.parametrize(
    "spec",
    [
        RunSpec(),
        RunSpec(layers=30, lr=0.1 + 0.2, norm="lip+layer"),
        RunSpec(model="gcn", norm="none", dataset="a b/c.npz"),
        RunSpec(model="gt", kappa=4.0, dataset="texas"),
        RunSpec(stack="reversible", residual="scaled"),
        resolve({"stack": "reversible"}, {}).spec,
        resolve({"model": "gin", "activation": "relu"}, {}).spec,
        resolve({"model": "aero", "dataset": "minesweeper"}, {}).spec,
        resolve({"dataset": "minesweeper", "residual": "initial"}, {}).spec,
    ],
)
def test_the_command_gives_the_same_spec_again(spec):
    words = shlex.split(command_for(spec))
    assert words[:2] == ["lipgnn", "train"]
    flags = {
        flag.removeprefix("--").replace("-", "_"): value for flag, value in zip(words[2::2], words[3::2], strict=True)
    }
    assert resolve(flags, {}).spec == spec


@pytest.mark.parametrize("given", [{"model": "gin"}, {"stack": "reversible"}])
def test_what_cannot_have_the_residual_connection_of_gcnii_has_sums(given):
    resolved = resolve(given, {})
    assert {name: getattr(resolved.spec, name) for name in SUMS_RECIPE} == SUMS_RECIPE
    assert resolved.sources["residual"] == "recipe sums"
    assert resolve({**given, "residual": "identity"}, {}).spec.residual == "identity"
    assert resolve({}, {}).spec.residual == "initial"


def test_defaults_of_a_data_set_hold_for_its_undirected_form():
    resolved = resolve({"dataset": "texas:undirected"}, {})
    assert (resolved.spec.split, resolved.sources["split"]) == ("geom-gcn:0", "default of data set texas:undirected")


def test_values_of_another_run_hold_where_nothing_else_is_said():
    base = ({"dataset": "pubmed", "layers": 7, "lr": 0.5}, "model m")
    resolved = resolve({"lr": 0.25}, {"LIPGNN_HIDDEN": "3"}, base=base)
    assert (resolved.spec.dataset, resolved.spec.layers, resolved.spec.lr, resolved.spec.hidden) == (
        "pubmed",
        7,
        0.25,
        3,
    )
    assert resolved.sources["layers"] == "model m"
    assert resolved.sources["lr"] == "flag"


@pytest.mark.parametrize(
    "flags, skip",
    [
        ({"model": "gt"}, "none"),
        ({"model": "sage"}, "none"),
        ({"model": "gt", "skip": "own"}, "own"),
        ({"model": "gt", "residual": "identity"}, "own"),
        ({"model": "gt", "dataset": "minesweeper"}, "own"),
        ({"model": "gt", "stack": "reversible"}, "own"),
        ({"model": "gat"}, "own"),
    ],
)
def test_layers_have_no_skip_of_their_own_where_the_first_features_pass_them_by(flags, skip):
    resolved = resolve(flags, {})
    assert resolved.spec.skip == skip
    again = shlex.split(command_for(resolved.spec))[2:]
    pairs = zip(again[::2], again[1::2], strict=True)
    assert resolve({name[2:].replace("-", "_"): value for name, value in pairs}, {}).spec == resolved.spec


def test_a_run_from_a_model_is_typed_from_scratch():
    spec = RunSpec(start="model:" + "0" * 16, epochs=3)
    assert as_typed(spec) == RunSpec(epochs=3)
    assert as_typed(RunSpec()) == RunSpec()


def test_data_that_only_its_file_tells_of_has_the_features_that_suit_it():
    assert resolve({"dataset": "mine.npz"}, {}).spec.features == "auto"
    assert resolve({"dataset": "cora"}, {}).spec.features == resolve({}, {}).spec.features == "row"


@pytest.mark.parametrize(
    "model, norm", [("gat", "lip+batch"), ("gt", "lip+batch"), ("gcn", "batch"), ("sage", "batch"), ("aero", "none")]
)
def test_the_norm_of_a_data_set_is_one_that_the_layer_can_have(model, norm):
    assert resolve({"dataset": "minesweeper", "model": model}, {}).spec.norm == norm


def test_nothing_acts_behind_an_encoder_that_is_not_there():
    resolved = resolve({"encoder": "none", "residual": "linear"}, {})
    assert resolved.spec.encoder_activation == "none"
    assert resolved.sources["encoder_activation"] == "default of encoder none"
    assert resolve({"residual": "linear"}, {}).spec.encoder_activation == "relu"
