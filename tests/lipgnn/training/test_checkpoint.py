import json
import os

import pytest
import torch

from lipgnn.errors import DataError
from lipgnn.files import sha256
from lipgnn.results.claims import Held
from lipgnn.spec.run import RunSpec
from lipgnn.training.checkpoint import CheckpointFile, check_state

SPEC = RunSpec(layers=2, hidden=2, heads=2)


def tensors(value):
    return {"a": torch.full((3,), float(value)), "b": torch.arange(4)}


def test_no_checkpoint_is_none(tmp_path):
    assert CheckpointFile(tmp_path).read(SPEC) is None


def test_round_trip(tmp_path):
    file = CheckpointFile(tmp_path)
    file.write(tensors(1), {"epoch": 7, "lr": 0.1 + 0.2}, SPEC)
    loaded, state = file.read(SPEC)
    assert state == {"epoch": 7, "lr": 0.1 + 0.2}
    assert all(torch.equal(loaded[name], value) for name, value in tensors(1).items())
    assert sorted(os.listdir(tmp_path)) == ["last.json", "last.safetensors"]


def test_an_option_younger_than_the_checkpoint_changes_nothing_while_it_is_neutral(tmp_path):
    file = CheckpointFile(tmp_path)
    file.write(tensors(1), {"epoch": 7}, SPEC)
    described = json.loads(file.state_path.read_text())
    del described["spec"]["stop_lr"]
    file.state_path.write_text(json.dumps(described))
    assert file.read(SPEC)[1] == {"epoch": 7}
    with pytest.raises(DataError, match="these differ: schedule, stop_lr"):
        file.read(SPEC.with_values(schedule="plateau", stop_lr=1e-8))


def test_a_checkpoint_of_another_spec_is_refused_with_the_differing_keys(tmp_path):
    CheckpointFile(tmp_path).write(tensors(1), {}, SPEC)
    with pytest.raises(DataError, match="these differ: layers, norm"):
        CheckpointFile(tmp_path).read(SPEC.with_values(layers=3, norm="none"))


def test_a_checkpoint_of_another_device_is_taken(tmp_path):
    CheckpointFile(tmp_path).write(tensors(1), {}, SPEC)
    assert CheckpointFile(tmp_path).read(SPEC.with_values(device="cuda:0"))


@pytest.mark.parametrize("name", ["last.json", "last.safetensors"])
def test_a_damaged_checkpoint_is_refused(tmp_path, name):
    CheckpointFile(tmp_path).write(tensors(1), {"epoch": 1}, SPEC)
    content = bytearray((tmp_path / name).read_bytes())
    content[len(content) // 2] ^= 0xFF
    (tmp_path / name).write_bytes(bytes(content))
    with pytest.raises(DataError, match="cannot be used") as caught:
        CheckpointFile(tmp_path).read(SPEC)
    assert "--force" in caught.value.hint


def test_a_newer_schema_is_refused(tmp_path):
    CheckpointFile(tmp_path).write(tensors(1), {}, SPEC)
    path = tmp_path / "last.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"schema": 99}))
    with pytest.raises(DataError, match="schema version 99"):
        CheckpointFile(tmp_path).read(SPEC)


@pytest.mark.parametrize(
    "content",
    [
        *("", "[]", "7", "null", "{}", "[" * 100_000, '{"schema": 1, "sha256": 1, "state": 2, "spec": 3}'),
        *(
            '{"schema": 1, "sha256": "", "state": {}, "spec": []}',
            '{"schema": [], "sha256": "", "state": {}, "spec": {}}',
        ),
    ],
)
def test_a_description_of_another_shape_is_refused(tmp_path, content):
    CheckpointFile(tmp_path).write(tensors(1), {}, SPEC)
    (tmp_path / "last.json").write_text(content)
    with pytest.raises(DataError, match="cannot be used"):
        CheckpointFile(tmp_path).read(SPEC)


def test_tensors_that_are_none_are_refused(tmp_path):
    CheckpointFile(tmp_path).write(tensors(1), {}, SPEC)
    (tmp_path / "last.safetensors").write_bytes(b"none")
    path = tmp_path / "last.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"sha256": sha256(b"none")}))
    with pytest.raises(DataError, match="tensors cannot be read"):
        CheckpointFile(tmp_path).read(SPEC)


def test_nothing_takes_its_name_once_another_has_taken_over(tmp_path):
    def lost():
        raise Held("taken over")

    CheckpointFile(tmp_path).write(tensors(1), {"epoch": 1}, SPEC)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(Held):
        CheckpointFile(tmp_path, lost).write(tensors(2), {"epoch": 2}, SPEC)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


LIKE = {"epoch": 0, "seconds": 0.0, "last": None, "scheduler": {"best": 0.5, "mode": "max", "lrs": [1]}}


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"epoch": 7, "seconds": 3},
        {"last": {"epoch": 1, "loss": 0.5}},
        {"scheduler": {"best": 1, "mode": "min", "lrs": [], "further": {}}},
        {"scheduler": {}},
    ],
)
def test_a_state_of_the_same_shape_can_be(change):
    check_state(LIKE | change, LIKE)


@pytest.mark.parametrize(
    "change",
    [
        *(
            {"epoch": "1"},
            {"epoch": True},
            {"epoch": None},
            {"epoch": 1.5},
            {"seconds": []},
            {"last": [1]},
            {"last": "x"},
        ),
        *({"last": {"loss": "x"}}, {"scheduler": 7}, {"scheduler": {"best": "x"}}, {"scheduler": {"lrs": 3}}),
        {"scheduler": {"mode": 3}},
    ],
)
def test_a_state_of_another_shape_is_told(change):
    with pytest.raises(ValueError, match=next(iter(change))):
        check_state(LIKE | change, LIKE)


def test_a_state_that_lacks_something_is_told():
    with pytest.raises(ValueError, match="no 'seconds'"):
        check_state({"epoch": 0, "last": None, "scheduler": {}}, LIKE)
