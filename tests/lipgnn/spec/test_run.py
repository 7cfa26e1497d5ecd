import dataclasses
import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lipgnn.catalog import MODELS
from lipgnn.errors import UsageError
from lipgnn.spec.options import GROUPS, default_of
from lipgnn.spec.run import FIELDS, HOW, RunSpec, parse_value

NUMBERS = [n for n, field in FIELDS.items() if field.type in ("int", "float") and "task" not in field.metadata]
CHOICES = [name for name, field in FIELDS.items() if "choices" in field.metadata]


def test_the_fields_are_those_of_the_contract_group_by_group():
    groups = {
        "data": "dataset split missing features metric",
        "network": "model layers hidden heads head_sharing shared_dim mixing_init activation encoder "
        "encoder_activation bias skip mlp dropout layer_dropout dropout_from attn_dropout edge_dropout",
        "depth and norms": "norm kappa norm_place weight_norm residual alpha beta jk init stack",
        "training": "lr weight_decay layer_weight_decay clip optimizer schedule stop_lr shift compress compress_memory "
        "compress_scale batch_size fanout eval_every epochs patience select start finetune seed dtype",
        "paths": "observed predict horizon walk loss transitions directions",
        "images": "group reach readout",
        "compute": "kernel recompute_every device workers",
    }
    assert list(FIELDS) == " ".join(groups.values()).split()
    assert tuple(groups) == GROUPS
    for group, names in groups.items():
        assert [name for name, field in FIELDS.items() if field.metadata["group"] == group] == names.split()


def test_a_spec_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        RunSpec().layers = 3


def test_text_becomes_numbers_of_the_declared_type():
    spec = RunSpec(layers="30", lr="1e-3", missing=1)
    assert (spec.layers, spec.lr, spec.missing) == (30, 0.001, 1.0)
    assert isinstance(spec.missing, float)


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("value", ["x", "", None, True, float("nan"), float("inf"), -1, [1]])
def test_numbers_refuse_what_is_none(name, value):
    with pytest.raises(UsageError) as caught:
        RunSpec(**{name: value})
    assert name in caught.value.message
    assert repr(value) in caught.value.message


@pytest.mark.parametrize(("task", "dataset", "model"), [("paths", "planar", "gat"), ("images", "digits", "gt")])
def test_options_of_one_task_have_defaults_there_and_no_value_elsewhere(task, dataset, model):
    own = {name: field for name, field in FIELDS.items() if field.metadata.get("task") == task}
    others, nodes = RunSpec(dataset=dataset, model=model, features="raw"), RunSpec()
    for name, field in own.items():
        assert getattr(others, name) == default_of(field) is not None
        assert getattr(nodes, name) is None
        with pytest.raises(UsageError, match=f"--{name} is of task {task}, and data set 'cora' is of nodes"):
            RunSpec(**{name: default_of(field)})


@pytest.mark.parametrize("name", CHOICES)
def test_choices_refuse_other_words_and_list_the_valid_ones(name):
    with pytest.raises(UsageError) as caught:
        RunSpec(**{name: "wrong"})
    assert name in caught.value.message
    assert all(choice in caught.value.hint for choice in FIELDS[name].metadata["choices"])


def test_whole_numbers_refuse_fractions():
    with pytest.raises(UsageError, match=r"layers must be a whole number, got 2\.5"):
        parse_value("layers", 2.5)


def test_limits_are_named():
    with pytest.raises(UsageError, match="missing must be at least 0 and at most 1, got 2"):
        RunSpec(missing=2)
    with pytest.raises(UsageError, match="dropout must be at least 0 and below 1, got 1"):
        RunSpec(dropout=1)


def test_a_score_norm_needs_attention():
    with pytest.raises(UsageError, match="'gcn' has none"):
        RunSpec(model="gcn", norm="lip")
    assert RunSpec(model="gcn", norm="pair").norm == "pair"


def test_unknown_keys_are_errors_with_the_nearest_match():
    with pytest.raises(UsageError) as caught:
        RunSpec.from_mapping({"layrs": 3})
    assert "Did you mean 'layers'?" in caught.value.hint


def test_dictionaries_round_trip_through_json():
    spec = RunSpec(layers=7, lr=0.1 + 0.2, norm="lip+pair")
    assert RunSpec.from_mapping(json.loads(json.dumps(spec.to_dict()))) == spec


def test_the_same_spec_is_the_same_run_however_it_was_written():
    assert RunSpec(layers="4", lr="0.005").run_id("f") == RunSpec(lr=5e-3, layers=4).run_id("f")


@pytest.mark.parametrize("name, value", [("device", "cuda:1"), ("kernel", "triton"), ("recompute_every", "4")])
def test_where_and_how_is_no_part_of_the_run(name, value):
    assert name in HOW
    assert RunSpec(**{name: value}).run_id("f") == RunSpec().run_id("f")


def test_workers_are_no_part_of_the_run():
    spec = RunSpec(batch_size=8)
    assert spec.with_values(workers=4).run_id("f") == spec.run_id("f")


def test_the_id_is_the_hash_of_what_is_computed_on_which_data():
    young = [name for name, field in FIELDS.items() if "neutral" in field.metadata]
    what = {name: value for name, value in RunSpec().to_dict().items() if name not in (*HOW, *young)}
    canonical = json.dumps({"schema": 2, "fingerprint": "f", "spec": what}, sort_keys=True)
    assert RunSpec().run_id("f") == hashlib.sha256(canonical.encode()).hexdigest()[:12]


def test_another_way_to_compute_is_not_checked_as_another_run(monkeypatch):
    spec = RunSpec(stack="reversible", residual="scaled")
    with monkeypatch.context() as patch:
        patch.setattr("lipgnn.spec.network.check_network", lambda spec: pytest.fail("the network was checked again"))
        changed = spec.computed(device="cpu", kernel="dgl", recompute_every="0")
    assert (changed.device, changed.kernel, changed.recompute_every) == ("cpu", "dgl", "0")
    assert (spec.device, spec.kernel) == ("auto", "auto")
    assert changed.run_id("f") == spec.run_id("f")
    assert changed == spec.with_values(device="cpu", kernel="dgl", recompute_every="0")
    with pytest.raises(UsageError, match="Unknown way to compute 'layers'"):
        spec.computed(layers="3")
    with pytest.raises(UsageError, match="Unknown value of kernel 'fast'"):
        spec.computed(kernel="fast")


@pytest.mark.parametrize("value", ["-1", "often", "1.5", ""])
def test_a_distance_of_checkpoints_that_is_none_is_refused(value):
    with pytest.raises(UsageError, match="auto or a whole number"):
        RunSpec(recompute_every=value)


@pytest.mark.parametrize(
    "others, problem",
    [
        ({"residual": "none"}, "residual"),
        ({"hidden": 3}, "hidden is 3"),
        ({"recompute_every": "2"}, "recompute_every is 2"),
    ],
)
def test_a_stack_that_cannot_be_reversed_is_refused(others, problem):
    with pytest.raises(UsageError, match=problem):
        RunSpec(**{"stack": "reversible", "residual": "scaled", **others})


def test_other_data_is_another_run():
    assert RunSpec().run_id("a") != RunSpec().run_id("b")


_DATA_OF_TASK = {
    "paths": {"dataset": "planar", "features": "raw"},
    "images": {"dataset": "digits", "features": "raw", "model": "gt"},
}
# These have values that not every run can have.
_BOUND_TO_OTHERS = ("weight_norm", "norm", "model", "skip", "layer_weight_decay", "horizon", "transitions")
_BOUND_TO_OTHERS += ("head_sharing", "shared_dim", "mixing_init", "start", "finetune")
_BOUND_TO_OTHERS += ("stop_lr", "shift", "compress", "compress_memory", "compress_scale", "encoder")


@given(st.sampled_from([name for name in FIELDS if name not in (*HOW, *_BOUND_TO_OTHERS)]), st.integers(2, 10**6))
def test_every_other_field_is_part_of_the_run(name, number):
    field = FIELDS[name]
    # A reversible stack needs a residual sum.
    base = {} if name == "residual" else {"residual": "scaled"}
    base |= _DATA_OF_TASK.get(field.metadata.get("task"), {})
    default = getattr(RunSpec(**base), name)
    if "choices" in field.metadata:
        # Not only another spelling of the default.
        value = next(c for c in field.metadata["choices"] if getattr(RunSpec(**base, **{name: c}), name) != default)
    elif field.type == "str":
        value = f"other-{number}"
    elif field.type == "int":
        value = min(default_of(field) + number, field.metadata.get("high", 2**32))
    else:
        value = number / (2 * 10**6)
    if value != default_of(field):
        assert RunSpec(**base, **{name: value}).run_id("f") != RunSpec(**base).run_id("f")


def test_how_gradients_are_compressed_is_part_of_the_run():
    sparse = {"residual": "scaled", "optimizer": "memsgd", "compress": "topk:0.01"}
    changes = [
        {"compress": "none"},
        {"compress": "topk:2"},
        {"compress": "randk:0.01"},
        {"compress_memory": "off"},
        {"compress_scale": "none"},
        {"shift": 3.0},
        {"optimizer": "sgd"},
    ]
    ids = {RunSpec(**{**sparse, **more}).run_id("f") for more in ({}, *changes)}
    assert len(ids) == 1 + len(changes)
    assert RunSpec(**{**sparse, "compress": "topk:1e-2"}) == RunSpec(**sparse)


def test_a_rate_to_stop_at_is_part_of_the_run():
    plateau = {"schedule": "plateau", "lr": 0.01}
    assert RunSpec(**plateau, stop_lr=1e-8).run_id("f") != RunSpec(**plateau).run_id("f")


def test_a_horizon_and_transitions_are_part_of_the_run():
    base = {"dataset": "planar", "features": "raw", "model": "diffusion", **MODELS["diffusion"].defaults}
    ids = {
        RunSpec(**base, **more).run_id("f") for more in ({}, {"horizon": "shortest:1.1"}, {"transitions": "learned"})
    }
    assert len(ids) == 3


def test_shared_heads_are_part_of_the_run():
    shared = {"model": "gt", "head_sharing": "collab"}
    different = [{"model": "gt"}, shared, shared | {"shared_dim": 8}, shared | {"mixing_init": "block"}]
    different += [shared | {"head_sharing": kind} for kind in ("mqa", "gqa:2", "gqa:4")]
    assert len({RunSpec(**values).run_id("f") for values in different}) == len(different)


def test_no_encoder_is_part_of_the_run_and_the_usual_one_changes_no_id():
    base = {"residual": "linear", "encoder_activation": "none"}
    assert RunSpec(**base, encoder="linear").run_id("f") == RunSpec(**base).run_id("f")
    assert RunSpec(**base, encoder="none").run_id("f") != RunSpec(**base).run_id("f")
    # As it was before there was the option.
    what = {name: value for name, value in RunSpec(**base).to_dict().items() if name != "encoder"}
    assert RunSpec.from_mapping(what) == RunSpec(**base)


def test_a_skip_and_a_weight_norm_are_part_of_the_run_whatever_their_spelling():
    plain, without = (RunSpec(model="gt", skip=skip) for skip in ("own", "none"))
    ids = {RunSpec(weight_norm=text).run_id("f") for text in ("none", "cap:1", "fix:1", "fix:4/L", "fix:4")}
    assert plain.run_id("f") != without.run_id("f") and len(ids) == 5
    assert RunSpec(weight_norm="fix:4.00/L").weight_norm == "fix:4/L"
    assert RunSpec(weight_norm="cap:1e-1").run_id("f") == RunSpec(weight_norm="cap:0.10").run_id("f")


def test_run_ids_are_hex_only():
    assert set(RunSpec(dataset="../../\x01evil").run_id("f")) <= set("0123456789abcdef")
    with pytest.raises(UsageError, match="without NUL"):
        RunSpec(dataset="../../\x00evil")


def test_layers_may_have_a_weight_decay_of_their_own():
    assert RunSpec(weight_decay=0.1, layer_weight_decay="same").weight_decay_of_layers == 0.1
    spec = RunSpec(weight_decay=0.1, layer_weight_decay="1e-2")
    assert (spec.layer_weight_decay, spec.weight_decay_of_layers) == ("0.01", 0.01)
    # One run has one id, however it is spelled.
    assert RunSpec(weight_decay=0.01, layer_weight_decay="0.01") == RunSpec(
        weight_decay=0.01, layer_weight_decay="same"
    )
    assert RunSpec(layer_weight_decay="0").weight_decay_of_layers == 0
    assert spec.run_id("f") != RunSpec(weight_decay=0.1, layer_weight_decay="same").run_id("f")


def test_text_that_may_be_a_number_can_be_given_as_one():
    assert RunSpec(layer_weight_decay=1e-2).layer_weight_decay == "0.01"
    assert RunSpec(layer_weight_decay=2.0).layer_weight_decay == "2"
    assert RunSpec(layer_weight_decay=0.1234567891).weight_decay_of_layers == 0.1234567891
    assert RunSpec(recompute_every=5).recompute_every == "5"
    with pytest.raises(UsageError, match="dataset must be a text, got 5"):
        RunSpec(dataset=5)


@pytest.mark.parametrize("value", ["-1", "x", "nan", "1e9", ""])
def test_a_weight_decay_of_layers_that_is_none_is_refused(value):
    with pytest.raises(UsageError, match=f"^layer_weight_decay must be .*, got '{value}'") as caught:
        RunSpec(layer_weight_decay=value)
    assert "same" in caught.value.hint
