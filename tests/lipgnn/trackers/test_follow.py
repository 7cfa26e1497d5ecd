import contextlib
import itertools

import pytest
from toy_tracker import plug_in

from lipgnn.errors import Interrupted, RunFailed
from lipgnn.results.recordings import read_recording
from lipgnn.results.store import Store
from lipgnn.trackers import figure, follow, train
from lipgnn.trackers.numbers import of_epoch, of_result
from lipgnn.training.loop import train as plain_train
from lipgnn.training.state import Training

TIMES = ("seconds", "seconds_per_epoch", "peak_memory_mb")


@pytest.fixture
def data(small_spec, load_for):
    return load_for(small_spec)


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "results")


@pytest.fixture(autouse=True)
def picture(monkeypatch):
    """Figures of a few bytes, because drawing takes longer than the rest; tests/…/test_figure.py draws."""

    def draw(run, dataset, device, folder):
        (folder / "diagnose.png").write_bytes(b"PNG of " + run.id.encode())
        return folder / "diagnose.png"

    monkeypatch.setattr(figure, "diagnose_figure", draw)


def remains(store):
    """All that a run leaves but for what its trackers and recorders do, and for times."""
    (folder,) = (store.root / "runs").iterdir()
    run = store.run(folder.name)
    log = [{**line, "seconds": 0} for line in run.read_log()]
    row = {name: value for name, value in run.result().items() if name not in TIMES}
    return run.best_path.read_bytes(), (folder / "last.safetensors").read_bytes(), log, row


@pytest.mark.parametrize("fails_at", [None, "begin", "log 3", "end"])
def test_a_tracker_changes_nothing_and_fails_alone(small_spec, data, tmp_path, monkeypatch, capfd, fails_at):
    plain, logged = Store(tmp_path / "plain"), Store(tmp_path / "logged")
    spec = small_spec.with_values(epochs=6)
    list(plain_train(spec, data, plain))
    made, said = plug_in(monkeypatch, fails_at=fails_at), []
    list(train(spec, data, logged, log=["toy"], warn=said.append))
    assert remains(logged) == remains(plain)
    assert capfd.readouterr() == ("", "")
    failed = "Nothing more is logged by toy, which failed (ConnectionError: the disk of the server is full)"
    assert said == ([f"{failed}; the training goes on."] if fails_at else [])
    assert len(made) == 1
    assert len(made[0].epochs) == {"begin": 0, "log 3": 3}.get(fails_at, spec.epochs)
    assert len(made[0].ends) == (fails_at in (None, "end"))


def test_all_is_logged_that_the_run_writes_itself(small_spec, data, store, monkeypatch):
    made = plug_in(monkeypatch)
    *_, finished = train(small_spec, data, store, log=["toy"])
    (toy,) = made
    run = store.run(finished.result["run_id"])
    recorded = read_recording(run.recording_path("gradients"))
    layers = range(1, small_spec.layers + 1)
    for row, ((epoch, numbers), line) in enumerate(zip(toy.epochs, run.read_log(), strict=True)):
        assert epoch == line["epoch"]
        expected = of_epoch(line)
        for name, layer in itertools.product(("weight_norm", "input_norm"), layers):
            expected[f"gradients/{name}/layer_{layer:03d}"] = recorded[name][row, layer - 1]
        assert numbers == expected
    assert toy.ends == [("done", small_spec.epochs, of_result(finished.result), b"PNG of " + run.id.encode())]
    row = finished.result
    assert {name: row[name] for name in toy.run.options} == toy.run.options and len(toy.run.options) > 50
    assert {
        name: row[name] for name in ("command", "fingerprint", "run_id", "parameters")
    }.items() <= toy.run.facts.items()


def test_epochs_without_an_evaluation_have_their_gradients(small_spec, data, store, monkeypatch):
    made = plug_in(monkeypatch)
    list(train(small_spec.with_values(eval_every=5), data, store, log=["toy"]))
    (toy,) = made
    assert [epoch for epoch, _ in toy.epochs] == list(range(1, 15))
    assert [epoch for epoch, numbers in toy.epochs if "val_loss" in numbers] == [5, 10, 14]
    assert all("gradients/weight_norm/layer_002" in numbers for _, numbers in toy.epochs)


@pytest.mark.parametrize("holds, expected", [(-1, range(1, 15)), (5, range(6, 15)), (7, range(8, 15))])
def test_a_run_that_goes_on_is_the_same_one_and_is_given_what_is_missing(
    small_spec, data, store, monkeypatch, holds, expected
):
    made = plug_in(monkeypatch)
    asked = itertools.count(1)
    with pytest.raises(Interrupted):
        list(train(small_spec, data, store, log=["toy"], should_stop=lambda: next(asked) == 5))
    assert made[0].ends == [("interrupted", 5, {}, None)] and len(made[0].epochs) == 5
    plug_in(monkeypatch, made=made, holds=holds)
    list(train(small_spec, data, store, log=["toy"]))
    assert made[1].run.id == made[0].run.id and made[1].run.epoch == 5
    assert [epoch for epoch, _ in made[1].epochs] == list(expected)
    again = dict(made[1].epochs)
    for epoch, numbers in made[0].epochs:
        assert again.get(epoch, numbers) == pytest.approx(numbers)
    list(train(small_spec, data, store, log=["toy"], force=True))
    assert made[2].run.id != made[0].run.id and made[2].run.epoch == 0


def test_of_a_run_that_is_done_nothing_is_logged(small_spec, data, store, monkeypatch):
    made, said = plug_in(monkeypatch), []
    list(plain_train(small_spec, data, store))
    list(train(small_spec, data, store, log=["toy"], warn=said.append))
    assert made == []
    assert said == ["Nothing was logged, because this run was done before; it is logged where it is computed anew."]


def test_one_that_is_not_installed_is_left_out(small_spec, data, store, monkeypatch):
    made, said = plug_in(monkeypatch), []
    spec = small_spec.with_values(epochs=2)
    *_, finished = train(spec, data, store, log=["absent", "toy"], warn=said.append)
    assert finished.result["status"] == "done" and len(made[0].epochs) == 2
    assert len(said) == 1 and 'pip install "lipgnn[no_such_package]"' in said[0]


def test_a_run_that_fails_or_is_left_says_so_to_its_trackers(small_spec, data, store, monkeypatch):
    made = plug_in(monkeypatch)
    with contextlib.closing(train(small_spec, data, store, log=["toy"])) as events:
        list(itertools.islice(events, 4))
    assert made[0].ends[0][:2] == ("interrupted", 3)

    def fail(self):
        raise RuntimeError("no memory left")

    monkeypatch.setattr(Training, "step", fail)
    with pytest.raises(RunFailed):
        list(train(small_spec, data, store, log=["toy"], force=True))
    assert made[1].ends[0][:2] == ("failed", 0)


def test_a_run_that_diverged_has_its_final_numbers(small_spec, data, store, monkeypatch):
    made = plug_in(monkeypatch)
    spec = small_spec.with_values(lr=1e6, norm="none", schedule="none", optimizer="sgd")
    *_, finished = train(spec, data, store, log=["toy"])
    assert finished.result["status"] == "diverged"
    ((status, _, numbers, _),) = made[0].ends
    assert (status, numbers["final/epochs_run"]) == ("diverged", finished.result["epochs_run"])


def test_a_run_without_layers_is_logged_without_their_gradients(small_spec, data, store, monkeypatch):
    made = plug_in(monkeypatch)
    spec = small_spec.with_values(epochs=2, layers=0, norm="none", schedule="none")
    *_, finished = train(spec, data, store, log=["toy"])
    assert finished.result["status"] == "done" and len(made[0].epochs) == 2
    assert not any(name.startswith("gradients") for _, numbers in made[0].epochs for name in numbers)


def test_the_run_that_another_starts_from_is_logged_as_one_of_its_own(small_spec, data, store, monkeypatch):
    made = plug_in(monkeypatch)
    shared = {"model": "gt", "norm": "none", "head_sharing": "collab", "start": "compressed", "finetune": 2}
    spec = small_spec.with_values(**shared, epochs=3, schedule="none")
    *_, finished = train(spec, data, store, log=["toy"])
    plain, compressed = made
    assert [toy.ends[0][0] for toy in made] == ["done", "done"]
    assert compressed.run.id.startswith(finished.result["run_id"]) and not plain.run.id.startswith(compressed.run.id)
    assert [epoch for epoch, _ in plain.epochs] == [1, 2, 3] and [epoch for epoch, _ in compressed.epochs] == [0, 1, 2]


def test_a_figure_that_cannot_be_drawn_is_left_out(small_spec, data, store, monkeypatch):
    def fail(*_):
        raise ValueError("no colours")

    monkeypatch.setattr(figure, "diagnose_figure", fail)
    made, said = plug_in(monkeypatch), []
    list(train(small_spec.with_values(epochs=1), data, store, log=["toy"], warn=said.append))
    assert made[0].ends[0][0] == "done" and made[0].ends[0][3] is None
    assert said == ["The figure of diagnose is not logged, because it could not be drawn (ValueError: no colours)."]


LAUNCHED = {"RANK": "0", "WORLD_SIZE": "2", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "2"}
LAUNCHED |= {"MASTER_ADDR": "localhost", "MASTER_PORT": "1"}


@pytest.mark.parametrize("launched", [{}, LAUNCHED])
def test_one_of_several_workers_records_no_gradients(small_spec, data, store, monkeypatch, launched):
    """What a launcher's variables mean is known before the training is; it alone would refuse to record."""
    plug_in(monkeypatch)
    asked = []
    monkeypatch.setattr(follow.loop, "train", lambda *_, record, **__: asked.append(record) or (_ for _ in ()))
    for name, value in launched.items():
        monkeypatch.setenv(name, value)
    list(train(small_spec.with_values(workers=1), data, store, log=["toy"]))
    assert asked == [() if launched else ("gradients",)]
