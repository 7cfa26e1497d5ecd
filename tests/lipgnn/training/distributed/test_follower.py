"""Runs of `train` with a worker beside this process."""

import dataclasses

import pytest
import torch
from safetensors.torch import load_file

from lipgnn.errors import Interrupted, UsageError
from lipgnn.results.store import Store
from lipgnn.spec.run import RunSpec
from lipgnn.tasks import load
from lipgnn.training.distributed.follower import Follower
from lipgnn.training.events import Finished, Started
from lipgnn.training.loop import train

SPEC = RunSpec(
    **{"dataset": "planted", "layers": 2, "hidden": 2, "heads": 2, "batch_size": 16, "fanout": 1000, "epochs": 4},
    **{"dropout": 0.0, "layer_dropout": 0.0, "device": "cpu", "dtype": "float64", "schedule": "plateau", "patience": 0},
)
DATA = load("planted", features=SPEC.features)


@pytest.fixture(autouse=True)
def one_thread():
    """As many as each of two workers has, so that nothing else differs."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def outcome(store, spec, **orders):
    events = list(train(spec, DATA, store, **orders))
    result = events[-1].result
    weights = load_file(store.run(result["run_id"]).best_path)
    started = [event for event in events if isinstance(event, Started)]
    return result, weights, started


def test_two_workers_compute_the_run_of_one_process(tmp_path):
    """Where nothing is drawn, whoever began it: same id, its row says how many; weights and scores to 1e-6."""
    alone, weights, _ = outcome(Store(tmp_path / "alone"), SPEC)
    store, asked = Store(tmp_path / "two"), iter([True])
    with pytest.raises(Interrupted, match="Stopped after epoch 1"):
        list(train(SPEC, DATA, store, should_stop=lambda: next(asked)))
    result, found, (started,) = outcome(store, SPEC.with_values(workers=2))
    assert "by 1 worker(s) up to epoch 1 and goes on with 2" in started.note
    assert result["run_id"] == alone["run_id"] and (alone["workers"], result["workers"]) == (1, 2)
    for name, tensor in weights.items():
        torch.testing.assert_close(found[name], tensor, rtol=0, atol=1e-6)
    for name in ("train_loss", "val_loss", "test_score", "max_grad_norm"):
        assert result[name] == pytest.approx(alone[name], abs=1e-6)
    assert (alone["sent_mb"], result["sent_mb"]) == (None, result["dense_mb"])
    # 3 epochs of 5 steps: 80 nodes in batches of 16.
    assert result["dense_mb"] == pytest.approx(3 * 5 * 64 * result["parameters"] / 8 / 2**20)


def test_what_looks_at_items_is_not_recorded_by_several_workers(tmp_path):
    with pytest.raises(UsageError, match="--record gradients is of one process"):
        list(train(SPEC.with_values(workers=2), DATA, Store(tmp_path), record=("gradients",)))


def test_orders_are_followed_until_the_end():
    class Script:
        def __init__(self, *orders):
            self.orders = list(orders)
            self.asked = []

        def say(self):
            return self.orders.pop(0)

        def any(self, truth):
            self.asked.append(truth)

    script = Script({"do": "ask"}, {"do": "ask"}, {"do": "end", "exit_code": 130})
    assert Follower(None, script, 0, lambda: True).obey() == {"exit_code": 130}
    assert script.asked == [True, True]


def test_an_event_of_the_end_is_the_last(tmp_path):
    *_, last = train(dataclasses.replace(SPEC, epochs=1), DATA, Store(tmp_path))
    assert isinstance(last, Finished)
