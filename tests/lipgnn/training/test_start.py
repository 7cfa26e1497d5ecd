"""Runs that start from weights: of a saved model, or of a trained network that is compressed first."""

import dataclasses
import threading

import pytest
import torch

from lipgnn.errors import Interrupted, RunFailed, UsageError
from lipgnn.files import sha256
from lipgnn.results.store import Store
from lipgnn.spec.start import model_start
from lipgnn.tasks.saved import load_model
from lipgnn.training.events import Finished, Started
from lipgnn.training.loop import train
from lipgnn.training.selection import Epoch


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "results")


@pytest.fixture
def gt(small_spec):
    """A Graph Transformer of 4 channels in two heads."""
    return small_spec.with_values(model="gt", norm="lip", kappa=1.0, epochs=6)


@pytest.fixture
def compressed(gt):
    return gt.with_values(head_sharing="collab", shared_dim=2, start="compressed", finetune=3)


def finished(spec, dataset, store, **options):
    *_, last = events = list(train(spec, dataset, store, **options))
    assert isinstance(last, Finished)
    return last.result, events


def start_from(path):
    return model_start(sha256(path.read_bytes()))


def epochs(events):
    return [event.epoch for event in events if isinstance(event, Epoch)]


def test_a_run_from_a_model_begins_with_what_that_is_worth(gt, load_for, store):
    first, _ = finished(gt, load_for(gt), store)
    path = store.run(first["run_id"]).best_path
    second, events = finished(gt.with_values(start=start_from(path), epochs=3), load_for(gt), store, model=path)
    assert epochs(events) == [0, 1, 2, 3]
    begun = next(event for event in events if isinstance(event, Epoch))
    for name in ("train_score", "val_score", "test_score", "train_loss", "val_loss"):
        assert getattr(begun, name) == pytest.approx(first[name], rel=1e-6)
    assert second["run_id"] != first["run_id"]


def test_what_a_run_starts_from_may_remain_the_best(gt, load_for, store):
    first, _ = finished(gt, load_for(gt), store)
    path = store.run(first["run_id"]).best_path
    wild = gt.with_values(start=start_from(path), epochs=2, lr=900.0, select="val_loss")
    result, _ = finished(wild, load_for(gt), store, model=path)
    assert result["best_epoch"] == 0
    kept, given = (load_model(store.run(one["run_id"]).best_path).network.state_dict() for one in (result, first))
    assert all(torch.equal(kept[name], given[name]) for name in given)


def test_a_model_of_another_network_is_refused(gt, load_for, store):
    first, _ = finished(gt, load_for(gt), store)
    path = store.run(first["run_id"]).best_path
    deeper = gt.with_values(start=start_from(path), layers=3)
    with pytest.raises(UsageError, match="it has layers 2, and this run layers 3"):
        finished(deeper, load_for(gt), store, model=path)


def test_a_model_that_is_not_there_or_another_is_refused(gt, load_for, store):
    first, _ = finished(gt, load_for(gt), store)
    path = store.run(first["run_id"]).best_path
    with pytest.raises(UsageError, match="was not given"):
        finished(gt.with_values(start=start_from(path)), load_for(gt), store)
    with pytest.raises(UsageError, match="starts from model:0000000000000000"):
        finished(gt.with_values(start="model:" + 16 * "0"), load_for(gt), store, model=path)


def test_a_compressed_run_trains_the_plain_network_first(compressed, load_for, store):
    result, events = finished(compressed, load_for(compressed), store)
    started = [event for event in events if isinstance(event, Started)]
    assert [event.spec.head_sharing for event in started] == ["none", "collab"]
    assert epochs(events) == [*range(1, 7), 0, 1, 2, 3]
    assert store.run(started[0].run_id).result()["status"] == "done"
    assert result["start"] == "compressed" and result["epochs_run"] == 3
    assert result["parameters"] == started[1].parameters < started[0].parameters


def test_without_fine_tuning_it_is_the_compressed_network(compressed, load_for, store):
    spec = dataclasses.replace(compressed, finetune=0)
    result, events = finished(spec, load_for(spec), store)
    assert (result["best_epoch"], result["epochs_run"], result["seconds_per_epoch"]) == (0, 0, None)
    assert epochs(events)[-1] == 0


def test_at_full_width_nothing_is_lost(compressed, load_for, store):
    spec = dataclasses.replace(compressed, finetune=0, shared_dim=compressed.width)
    result, _ = finished(spec, load_for(spec), store)
    plain = store.run(spec.plain.run_id(result["fingerprint"])).result()
    assert result["test_score"] == plain["test_score"]
    assert result["val_loss"] == pytest.approx(plain["val_loss"], rel=1e-5)


def test_a_plain_network_that_is_there_is_not_trained_again(compressed, load_for, store):
    finished(compressed.plain, load_for(compressed), store)
    _, events = finished(compressed, load_for(compressed), store)
    assert epochs(events) == [0, 1, 2, 3]


@pytest.mark.parametrize("cut", [3, 7, 9])
def test_a_killed_run_ends_like_an_uninterrupted_one(compressed, load_for, tmp_path, cut):
    """Cut in the plain network, right after its compression, and while it is trained on."""
    dataset, whole, broken = load_for(compressed), Store(tmp_path / "whole"), Store(tmp_path / "broken")
    expected, _ = finished(compressed, dataset, whole, save_every=1)
    events = train(compressed, dataset, broken, save_every=1)
    seen = 0
    while seen < cut:
        seen += isinstance(next(events), Epoch)
    events.close()
    again, _ = finished(compressed, dataset, broken, save_every=1)
    assert again["val_loss"] == expected["val_loss"] and again["test_score"] == expected["test_score"]
    logs = [
        [{k: v for k, v in line.items() if k != "seconds"} for line in store.run(expected["run_id"]).read_log()]
        for store in (whole, broken)
    ]
    assert logs[0] == logs[1] and [line["epoch"] for line in logs[0]] == [0, 1, 2, 3]


def test_the_plain_network_is_waited_for_where_another_trains_it(compressed, load_for, store, monkeypatch):
    monkeypatch.setattr("lipgnn.training.start._WAIT_SECONDS", 0.01)
    dataset = load_for(compressed)
    plain = train(compressed.plain, dataset, store)
    next(plain)
    found = []
    waiting = threading.Thread(target=lambda: found.append(finished(compressed, dataset, store)))
    waiting.start()
    waiting.join(0.2)
    assert waiting.is_alive()
    list(plain)
    waiting.join()
    assert epochs(found[0][1]) == [0, 1, 2, 3]


def test_waiting_can_be_stopped(compressed, load_for, store):
    plain = train(compressed.plain, load_for(compressed), store)
    next(plain)
    with pytest.raises(Interrupted, match="waiting for the run to compress"):
        list(train(compressed, load_for(compressed), store, should_stop=lambda: True))
    plain.close()


def test_a_plain_network_that_diverged_is_not_compressed(compressed, load_for, store):
    spec = compressed.with_values(lr=1e3, norm="none", epochs=30, residual="identity", layers=30, weight_decay=0.0)
    with pytest.raises(RunFailed, match="the network to be compressed, diverged"):
        list(train(spec, load_for(spec), store))
