"""A run of more epochs goes on from the shorter one and ends bit for bit as in one go; where it cannot, it says why."""

import json

import pytest

from lipgnn.errors import Interrupted
from lipgnn.results.store import Store
from lipgnn.training.checkpoint import CheckpointFile
from lipgnn.training.events import Started
from lipgnn.training.lengthen import lengthen
from lipgnn.training.loop import train

TIMES = ("seconds", "seconds_per_epoch", "peak_memory_mb")
SHORT, LONG = 3, 6


@pytest.fixture
def stores(tmp_path):
    return Store(tmp_path / "whole"), Store(tmp_path / "parts")


def trained(spec, dataset, store, **options):
    """The result without its times, what began, and all that must be the same: models, checkpoint, log."""
    *events, finished = train(spec, dataset, store, lengthened=True, **options)
    result = {name: value for name, value in finished.result.items() if name not in TIMES}
    run = store.run(result["run_id"])
    log = [{name: value for name, value in line.items() if name != "seconds"} for line in run.read_log()]
    files = [(run.path / f"{name}.safetensors").read_bytes() for name in ("best", "last")]
    return result, next((event for event in events if isinstance(event, Started)), None), (files, log)


CASES = {
    "plateau": {},
    "last, by halves": {"schedule": "halve", "select": "last"},
    "memory and mean": {"schedule": "inverse", "optimizer": "memsgd", "compress": "topk:0.1"},
    "batches, every third": {"batch_size": 200, "fanout": 3, "eval_every": 3},
    "out of patience": {"patience": 1, "lr": 0.5, "schedule": "none"},
}


@pytest.mark.parametrize("name", CASES)
def test_a_longer_run_is_the_same_as_in_one_go(small_spec, load_for, stores, name):
    long = small_spec.with_values(**{**CASES[name], "epochs": LONG})
    dataset, (whole, parts) = load_for(long), stores
    expected, _, same = trained(long, dataset, whole)
    first, _, _ = trained(long.with_values(epochs=SHORT), dataset, parts)
    result, started, found = trained(long, dataset, parts)
    assert result == expected and found == same
    assert (result["epochs_run"] < LONG) == (name == "out of patience")
    assert result["run_id"] != first["run_id"] and started.resumed_epoch == first["epochs_run"]
    assert started.shorter.startswith(f"Run {first['run_id']} is the same run with 3 epochs, and this one goes on")


def test_the_longest_of_several_is_gone_on_from_and_nothing_of_it_changes(small_spec, load_for, stores):
    long, short = (small_spec.with_values(epochs=epochs) for epochs in (LONG, SHORT))
    dataset, (whole, parts) = load_for(long), stores
    expected, _, same = trained(long, dataset, whole)
    # Neither of the others is gone on from: one is longer, and one is shorter still.
    for epochs in (LONG + 1, 1):
        trained(long.with_values(epochs=epochs), dataset, parts)
    before, _, files = trained(short, dataset, parts)
    result, started, found = trained(long, dataset, parts)
    assert (result, found, started.resumed_epoch) == (expected, same, SHORT)
    assert trained(short, dataset, parts) == (before, None, files)


def test_an_interrupted_run_is_gone_on_from_as_well(small_spec, load_for, stores):
    long = small_spec.with_values(epochs=LONG)
    dataset, (whole, parts) = load_for(long), stores
    expected, _, same = trained(long, dataset, whole)
    with pytest.raises(Interrupted):
        trained(long.with_values(epochs=SHORT), dataset, parts, should_stop=lambda: True)
    result, started, found = trained(long, dataset, parts)
    assert (result, found, started.resumed_epoch) == (expected, same, 1)


REFUSED = {
    "ends with the run": {"schedule": "cosine"},
    "no multiple of --eval-every 2": {"eval_every": 2},
}


@pytest.mark.parametrize("reason", REFUSED)
def test_what_depends_on_the_length_starts_anew_and_is_still_the_same(small_spec, load_for, stores, reason):
    long = small_spec.with_values(**{**REFUSED[reason], "epochs": LONG})
    dataset, (whole, parts) = load_for(long), stores
    expected, started, same = trained(long, dataset, whole)
    assert started.shorter is None
    trained(long.with_values(epochs=SHORT), dataset, parts)
    result, started, found = trained(long, dataset, parts)
    assert (result, found, started.resumed_epoch) == (expected, same, 0)
    assert "this one starts anew: " in started.shorter and reason in started.shorter


@pytest.fixture
def prolonged(small_spec, load_for, tmp_path):
    """A store with a run, that run, and the arguments of `lengthen` for the same with more epochs."""
    store, dataset, long = Store(tmp_path / "results"), load_for(small_spec), small_spec.with_values(epochs=LONG)
    result, _, _ = trained(long.with_values(epochs=2), dataset, store)
    return store, store.run(result["run_id"]), (long, dataset.fingerprint, store.run("0" * 12), store)


def test_who_records_starts_anew(prolonged):
    assert "--record gradients is of all epochs" in lengthen(*prolonged[2], ("gradients",))


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [("status", "diverged", "that one diverged"), ("version", "0.0.1", "by version 0.0.1 of lipgnn")],
)
def test_a_result_that_is_none_to_go_on_from_is_refused(prolonged, name, value, reason):
    _, shorter, asked = prolonged
    shorter.result_path.write_text(json.dumps(json.loads(shorter.result_path.read_text()) | {name: value}))
    assert reason in lengthen(*asked)


def test_a_damaged_checkpoint_or_one_that_somebody_writes_is_left_alone(prolonged):
    store, shorter, asked = prolonged
    with store.run(shorter.id).claim():
        assert "another process computes that one now" in lengthen(*asked)
    (shorter.path / "last.safetensors").write_bytes(b"torn")
    assert "cannot be read" in lengthen(*asked)
    assert not CheckpointFile(asked[2].path).state_path.exists()


def test_other_runs_other_data_and_damaged_folders_are_passed_over(prolonged):
    _, shorter, (long, *rest) = prolonged
    for changes in ({"seed": 5}, {"lr": 0.02}, {"layers": 3}, {"epochs": 2}, {"epochs": 1}):
        assert lengthen(long.with_values(**changes), *rest) is None
    assert lengthen(long, "f" * 16, *rest[1:]) is None
    shorter.spec_path.write_text("[]")
    assert lengthen(long, *rest) is None


def test_a_run_that_was_written_before_there_was_an_option_is_found(prolonged):
    _, shorter, asked = prolonged
    described = json.loads(shorter.spec_path.read_text())
    for name in ("compress", "optimizer"):
        del described["spec"][name]
    shorter.spec_path.write_text(json.dumps(described))
    asked[2].path.mkdir()
    assert "goes on where it ended" in lengthen(*asked)


def test_with_force_and_where_it_is_not_asked_for_all_is_computed(prolonged, load_for):
    store, _, (long, *_) = prolonged
    for options in ({"lengthened": True, "force": True}, {}):
        started = next(train(long, load_for(long), store, **options))
        assert (started.resumed_epoch, started.shorter) == (0, None)
