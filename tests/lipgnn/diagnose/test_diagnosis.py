"""A diagnosis is the profile, the verdict on it, and what was asked for beside them, all as plain values."""

import dataclasses
import json

import pytest
import torch

from lipgnn.catalog import SUMS_RECIPE
from lipgnn.diagnose.ablate import ablate
from lipgnn.diagnose.data import WholeData
from lipgnn.diagnose.diagnosis import diagnose
from lipgnn.diagnose.profile import profile
from lipgnn.diagnose.reach import numbers_of
from lipgnn.diagnose.subject import SubjectRequest, new_subject
from lipgnn.diagnose.verdict import judge
from lipgnn.errors import UsageError
from lipgnn.measures.reach import look_far
from lipgnn.results.store import Store
from lipgnn.spec.run import RunSpec
from lipgnn.spec.sources import resolve
from lipgnn.training.loop import train

CPU = torch.device("cpu")
SMALL = {"dataset": "planted", "layers": 3, "hidden": 2, "heads": 2, "norm": "none"}
SPEC = RunSpec(**{**SUMS_RECIPE, **SMALL, "activation": "none", "device": "cpu"})


@pytest.fixture
def subject():
    return new_subject(SPEC)


def test_it_is_what_its_parts_find_one_by_one(subject):
    data = WholeData.of(SPEC, subject.dataset, CPU)
    found = diagnose(subject, "cpu", without=["skip"])
    assert found.profile == profile(subject.network, data)
    # Before training, how much is right says nothing.
    walk = {"second_eigenvalue": found.profile.second_eigenvalue, "components": found.profile.components}
    assert found.verdict == judge(found.profile.layers, spec=SPEC, **walk)
    assert found.variants == ablate(subject.network, data, ["skip"])


def test_only_what_was_asked_for_is_there(subject):
    plain = diagnose(subject, "cpu").to_dict()
    more = diagnose(subject, "cpu", without=["skip"], paths=2, path_length=1, targets=2).to_dict()
    assert set(more) - set(plain) == {"ablation", "paths", "reach"}
    assert {name: more[name] for name in plain} == plain
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert (plain["model"], plain["device"], plain["spec"]) == (None, "cpu", SPEC.to_dict())


def test_paths_have_their_length_and_sum_to_the_output(subject):
    paths = diagnose(subject, "cpu", paths=4, path_length=2).paths
    assert sum(row["share"] for row in [*paths["lengths"], paths["bias"]]) == pytest.approx(1)
    assert [sum(head > 0 for head in row["heads"]) for row in paths["single"]] == [2] * 4
    assert diagnose(subject, "cpu", paths=0).paths["single"] == []


def test_how_far_it_looks_is_what_is_found_beside_it(subject):
    found = diagnose(subject, "cpu", targets=3)
    data = WholeData.of(SPEC, subject.dataset, CPU)
    assert found.reach == numbers_of(look_far(subject.network, data.batch, 3))
    assert sum(row["share"] for row in found.reach["distances"]) == pytest.approx(1)


def test_networks_of_walks_are_refused():
    spec = resolve({"dataset": "planar", "model": "gat", "layers": 2, "hidden": 2}, {}).spec
    with pytest.raises(UsageError, match="outputs of nodes, and those of data set 'planar' are of walks"):
        diagnose(new_subject(spec), "cpu")


def test_a_linear_map_has_no_layers_to_look_at(small_spec):
    with pytest.raises(UsageError, match="this network is one linear map"):
        diagnose(new_subject(small_spec.with_values(layers=0)))


def test_a_split_that_cannot_be_learned_from_is_found_in_any_network():
    subject = new_subject(SPEC)
    one = subject.dataset.labels_array == 0
    split = dataclasses.replace(subject.dataset.split, train=subject.dataset.split.train & one)
    found = diagnose(dataclasses.replace(subject, dataset=dataclasses.replace(subject.dataset, split=split)), "cpu")
    assert found.verdict.name == "one-class"
    (finding,) = found.to_dict()["findings"]
    assert set(finding) == {"name", "layer", "evidence"}


def test_a_run_that_was_stopped_while_it_learned_is_undertrained(small_spec, load_for, tmp_path):
    store = Store(tmp_path / "results")
    verdicts = {}
    for epochs in (3, 40):
        spec = small_spec.with_values(epochs=epochs, norm="lip", hidden=4, heads=4, dropout=0, attn_dropout=0)
        (*_, finished) = train(spec, load_for(spec), store)
        subject = SubjectRequest(finished.result["run_id"]).subject(store, {})
        verdicts[epochs] = diagnose(subject, "cpu").verdict
    assert verdicts[3].name == "undertrained" and "--epochs 12" in [option.words for option in verdicts[3].options]
    assert "undertrained" not in verdicts[40].words
