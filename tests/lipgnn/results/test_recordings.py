import os

import numpy as np
import pytest
from safetensors.numpy import save

from lipgnn.errors import DataError
from lipgnn.results.recordings import (
    BY_LAYER,
    GRADIENTS,
    RECORDS,
    SIMILARITY,
    archive_recordings,
    archived_path,
    read_recording,
    record_of,
    write_recording,
)
from lipgnn.results.store import Store


def arrays(epochs=200, layers=25):
    """Numbers over the twenty-four orders of magnitude that gradients can have."""
    draw = np.random.default_rng(0)
    numbers = {name: (10 ** draw.uniform(-20, 4, (epochs, layers))).astype(np.float32) for name in GRADIENTS}
    return {"epochs": np.arange(1, epochs + 1), **numbers}


def test_arrays_come_back_as_they_were(tmp_path):
    written = arrays(3, 2)
    write_recording(tmp_path / "g", written)
    found = read_recording(tmp_path / "g")
    assert found.keys() == written.keys()
    assert all(np.array_equal(found[name], written[name]) for name in written)


@pytest.fixture
def store(tmp_path):
    """Run ab has recorded, run cd has not."""
    store = Store(tmp_path / "results")
    for run_id in ("ab0000000000", "cd0000000000"):
        store.run(run_id).path.mkdir(parents=True)
    write_recording(store.run("ab0000000000").recording_path("gradients"), arrays())
    return store


def test_what_is_archived_is_small_and_good_to_a_percent(store, tmp_path):
    assert archive_recordings(store, ["ab0000000000", "cd0000000000"], tmp_path / "gradients") == ["ab0000000000"]
    (path,) = (tmp_path / "gradients").iterdir()
    assert path.name == "ab0000000000.safetensors"
    assert os.path.getsize(path) < 30_000
    found, recorded = read_recording(path), arrays()
    assert found.keys() == {"epochs", "weight_norm", "input_norm"}
    assert np.array_equal(found["epochs"], recorded["epochs"])
    for name in ("weight_norm", "input_norm"):
        np.testing.assert_allclose(found[name], recorded[name], rtol=0.02)
    large = recorded["weight_norm"] > 1e-8
    np.testing.assert_allclose(found["weight_norm"][large], recorded["weight_norm"][large], rtol=0.01)


def test_a_long_run_is_archived_at_every_kth_epoch(store, tmp_path):
    write_recording(store.run("ab0000000000").recording_path("gradients"), arrays(1000))
    archive_recordings(store, ["ab0000000000"], tmp_path / "gradients")
    path = tmp_path / "gradients" / "ab0000000000.safetensors"
    assert 20_000 < os.path.getsize(path) < 30_000
    found, recorded = read_recording(path), arrays(1000)
    assert found["epochs"].tolist() == list(range(1, 1001, 4))
    np.testing.assert_allclose(found["weight_norm"], recorded["weight_norm"][::4], rtol=0.02)


def test_archiving_twice_gives_the_same_bytes(store, tmp_path):
    archive_recordings(store, ["ab0000000000"], tmp_path / "gradients")
    first = (tmp_path / "gradients" / "ab0000000000.safetensors").read_bytes()
    archive_recordings(store, ["ab0000000000"], tmp_path / "gradients")
    assert (tmp_path / "gradients" / "ab0000000000.safetensors").read_bytes() == first


def test_a_gradient_of_zero_and_one_that_is_not_there_stay_what_they_are(store, tmp_path):
    recorded = arrays(2, 2)
    recorded["weight_norm"][0, 0] = 0
    recorded["input_norm"][:] = np.nan
    write_recording(store.run("ab0000000000").recording_path("gradients"), recorded)
    archive_recordings(store, ["ab0000000000"], tmp_path / "gradients")
    found = read_recording(tmp_path / "gradients" / "ab0000000000.safetensors")
    assert found["weight_norm"][0, 0] == 0 < found["weight_norm"][1, 1]
    assert np.isnan(found["input_norm"]).all()


def test_similarity_is_archived_beside_gradients(store, tmp_path):
    """Over more orders of magnitude than float32 has, with what is not finite as it is."""
    draw = np.random.default_rng(1)
    written = {name: 10 ** draw.uniform(-60, 60, (21, 129)) for name in SIMILARITY}
    written["grad_mu"][0, :3] = np.nan, np.inf, 0
    written["epochs"] = np.arange(21)
    write_recording(store.run("ab0000000000").recording_path("similarity"), written)
    assert archive_recordings(store, ["ab0000000000", "cd0000000000"], tmp_path / "archived") == ["ab0000000000"]
    paths = {record: archived_path(tmp_path / "archived", "ab0000000000", record) for record in BY_LAYER}
    assert {*(tmp_path / "archived").iterdir()} == {*paths.values()}
    assert read_recording(paths["gradients"]).keys() == {"epochs", "weight_norm", "input_norm"}
    found = read_recording(paths["similarity"])
    assert os.path.getsize(paths["similarity"]) < 30_000
    assert found.keys() == {"epochs", *SIMILARITY}
    for name in SIMILARITY:
        np.testing.assert_allclose(found[name], written[name], rtol=0.04)


def test_shares_are_archived_with_their_zeros(store, tmp_path):
    shares = np.array([[0.75, 0.25, 0, 0], [0.2, 0.3, 0.5, 0]])
    written = {"epochs": np.array([0, 9]), "reach_share": shares}
    write_recording(store.run("cd0000000000").recording_path("reach"), written)
    assert archive_recordings(store, ["cd0000000000"], tmp_path / "archived") == ["cd0000000000"]
    found = read_recording(archived_path(tmp_path / "archived", "cd0000000000", "reach"))
    np.testing.assert_allclose(found["reach_share"], shares, rtol=0.002)
    assert found["epochs"].tolist() == [0, 9]


def test_every_array_belongs_to_one_record():
    names = [name for names in RECORDS.values() for name in names]
    assert len(names) == len(set(names))
    assert {record_of(name) for name in names} == {*RECORDS}
    assert record_of("test_score") is None
    assert {*BY_LAYER} < {*RECORDS}


def test_nothing_recorded_is_nothing_archived(store, tmp_path):
    assert archive_recordings(store, ["cd0000000000"], tmp_path / "gradients") == []
    assert not (tmp_path / "gradients").exists()


@pytest.mark.parametrize(
    "content, reason",
    [
        (b"", "Cannot use"),
        (b"\x10\x00\x00\x00\x00\x00\x00\x00{", "Cannot use"),
        (save({"epochs": np.arange(2)}), "schema version None"),
        (save({"epochs": np.arange(2)}, metadata={"schema": "9"}), "schema version '9'"),
        (save({"epochs": np.arange(2)}, metadata={"schema": "1"}), "no arrays"),
        (save({"weight_norm": np.ones((2, 2))}, metadata={"schema": "1"}), "no arrays"),
        (save({"epochs": np.arange(3), "weight_norm": np.ones((2, 2))}, metadata={"schema": "1"}), "no arrays"),
    ],
)
def test_a_damaged_file_is_named(tmp_path, content, reason):
    for record in RECORDS:
        path = tmp_path / f"{record}.safetensors"
        path.write_bytes(content)
        with pytest.raises(DataError) as caught:
            read_recording(path)
        assert str(path) in caught.value.message and reason in caught.value.message
        assert f"--record {record} --force" in caught.value.hint
