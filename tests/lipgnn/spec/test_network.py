from dataclasses import fields

import pytest

from lipgnn.errors import UsageError
from lipgnn.spec.network import NetworkSpec
from lipgnn.spec.run import FIELDS, RunSpec, is_neutral

NAMES = [field.name for field in fields(NetworkSpec)]


def test_a_run_is_a_network_with_the_same_defaults():
    assert issubclass(RunSpec, NetworkSpec) and set(NAMES) < set(FIELDS)
    run, network = RunSpec(), NetworkSpec()
    assert {name: getattr(run, name) for name in NAMES} == {name: getattr(network, name) for name in NAMES}


@pytest.mark.parametrize("name", [field.name for field in fields(NetworkSpec) if "choices" in field.metadata])
def test_unknown_names_are_refused_with_the_valid_ones(name):
    with pytest.raises(UsageError, match=f"Unknown value of {name} 'wrong'") as caught:
        NetworkSpec(**{name: "wrong"})
    assert all(choice in caught.value.hint for choice in FIELDS[name].metadata["choices"])


def test_what_follows_from_the_options():
    spec = NetworkSpec(hidden=3, heads=5, layers=16, residual="scaled", recompute_every=4)
    assert (spec.width, spec.scale, spec.recomputed_blocks) == (15, 0.25, 4)
    assert NetworkSpec(residual="identity", layers=16).scale == 1
    assert NetworkSpec(recompute_every="auto").recomputed_blocks == 0


def test_a_weight_norm_has_one_spelling():
    assert NetworkSpec(weight_norm="fix:4.00/L") == NetworkSpec(weight_norm="fix:4/L")


def test_head_sharing_has_one_spelling():
    assert NetworkSpec(model="gt", head_sharing="gqa:1") == NetworkSpec(model="gt", head_sharing="mqa")
    assert NetworkSpec(model="gt", head_sharing="gqa:02").head_sharing == "gqa:2"


@pytest.mark.parametrize("name, value", [("head_sharing", "none"), ("shared_dim", 0), ("mixing_init", "normal")])
def test_runs_without_shared_heads_have_the_ids_that_they_had_before_there_were_any(name, value):
    assert is_neutral(name, value) and getattr(RunSpec(), name) == value


def test_what_keeps_no_activations_cannot_keep_fewer():
    with pytest.raises(UsageError, match="recompute_every is 2"):
        NetworkSpec(stack="reversible", residual="scaled", recompute_every="2")
