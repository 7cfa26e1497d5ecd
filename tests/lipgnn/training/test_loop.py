import contextlib
import dataclasses
import json

import pytest
import torch

from lipgnn.errors import DataError, Interrupted, RunFailed, UsageError
from lipgnn.results.columns import COLUMNS
from lipgnn.results.recordings import RECORDS, read_recording
from lipgnn.results.rows import read_results
from lipgnn.results.store import Store
from lipgnn.tasks.saved import load_model
from lipgnn.training import loop as module
from lipgnn.training.events import Finished, Started
from lipgnn.training.loop import train
from lipgnn.training.selection import Epoch
from lipgnn.training.state import Training

TIMES = ("seconds", "seconds_per_epoch", "peak_memory_mb")


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "results")


def complete(spec, dataset, store, **options):
    """Train to the end; the result without its times, and the events."""
    events = list(train(spec, dataset, store, **options))
    return {k: v for k, v in events[-1].result.items() if k not in TIMES}, events


def artifacts(store, run_id):
    """All that must be the same after an interruption: weights, optimizer, log without times."""
    run = store.run(run_id)
    log = [{k: v for k, v in record.items() if k != "seconds"} for record in run.read_log()]
    return (run.path / "best.safetensors").read_bytes(), (run.path / "last.safetensors").read_bytes(), log


def test_a_run_leaves_what_the_store_promises(small_spec, load_for, store):
    result, events = complete(small_spec, load_for(small_spec), store)
    run = store.run(result["run_id"])
    names = {path.name for path in run.path.iterdir()}
    assert names == {"spec.json", "log.jsonl", "last.json", "last.safetensors", "best.safetensors", "result.json"}
    assert isinstance(events[0], Started)
    assert [event.epoch for event in events if isinstance(event, Epoch)] == list(range(1, 15))
    assert isinstance(events[-1], Finished)
    assert set(COLUMNS) <= set(events[-1].result)
    assert result["parameters"] == sum(p.numel() for p in load_model(run.best_path).network.parameters())


def test_the_result_is_of_the_selected_epoch_and_of_the_last(small_spec, load_for, store):
    result, events = complete(small_spec, load_for(small_spec), store)
    epochs = [event for event in events if isinstance(event, Epoch)]
    best = max(epochs, key=lambda e: (e.val_score, -e.val_loss))
    assert result["best_epoch"] == best.epoch
    assert (result["val_score"], result["test_score"]) == (best.val_score, best.test_score)
    assert result["last_test_score"] == epochs[-1].test_score
    assert result["max_grad_norm"] == max(e.grad_norm for e in epochs)


def test_a_finished_run_is_not_computed_again(small_spec, load_for, store, monkeypatch):
    first, _ = complete(small_spec, load_for(small_spec), store)
    monkeypatch.setattr(module, "Training", None)
    again, events = complete(small_spec, load_for(small_spec), store)
    assert again == first
    assert len(events) == 1


def test_force_computes_anew(small_spec, load_for, store):
    first, _ = complete(small_spec, load_for(small_spec), store)
    again, events = complete(small_spec, load_for(small_spec), store, force=True)
    assert again == first
    assert len(events) == 16


@pytest.mark.parametrize("cut", range(1, 14, 3))
def test_a_killed_run_ends_like_an_uninterrupted_one(small_spec, load_for, tmp_path, cut):
    """The generator is dropped after `cut` epochs, as a kill would, with checkpoints every 4."""
    whole, cut_store = Store(tmp_path / "whole"), Store(tmp_path / "cut")
    expected, _ = complete(small_spec, load_for(small_spec), whole)
    running = train(small_spec, load_for(small_spec), cut_store, save_every=4)
    for event in running:
        if isinstance(event, Epoch) and event.epoch == cut:
            break
    running.close()
    result, events = complete(small_spec, load_for(small_spec), cut_store, save_every=4)
    assert events[0].resumed_epoch == (cut - 1) // 4 * 4
    assert result == expected
    assert artifacts(cut_store, result["run_id"]) == artifacts(whole, result["run_id"])


def test_a_request_to_stop_saves_that_very_epoch(small_spec, load_for, store):
    asked = iter([False, False, True])
    with pytest.raises(Interrupted, match="after epoch 3"):
        list(train(small_spec, load_for(small_spec), store, should_stop=lambda: next(asked)))
    _, events = complete(small_spec, load_for(small_spec), store)
    assert events[0].resumed_epoch == 3


def test_a_diverged_run_is_a_result_with_the_layer_named(small_spec, load_for, store):
    spec = small_spec.with_values(lr=1e3, layers=40, norm="none", residual="identity", activation="none", epochs=50)
    result, _ = complete(spec, load_for(spec), store)
    assert result["status"] == "diverged"
    assert result["diverged_at"].startswith(("output of the", "gradient of the"))
    assert result["epochs_run"] < 50
    checkpoint = json.loads((store.run(result["run_id"]).path / "last.json").read_text())
    assert checkpoint["state"]["epoch"] == result["epochs_run"]


def test_a_run_that_diverges_at_once_still_has_a_result(small_spec, load_for, store, monkeypatch):
    def broken(self):
        raise module.Diverged("output of the encoder")

    monkeypatch.setattr(Training, "step", broken)
    result, _ = complete(small_spec, load_for(small_spec), store)
    assert (result["status"], result["epochs_run"], result["best_epoch"]) == ("diverged", 0, None)
    assert store.csv_path.exists()


@pytest.mark.parametrize(
    "error, hint",
    [
        (MemoryError(), "--recompute-every"),
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried …"), "--stack reversible"),
        (RuntimeError("some native library is unhappy\nwith details"), "--debug"),
    ],
)
def test_a_failure_is_recorded_and_the_run_can_go_on(small_spec, load_for, store, monkeypatch, error, hint):
    real = Training.step

    def failing(self):
        if self.epoch == 5:
            raise error
        return real(self)

    monkeypatch.setattr(Training, "step", failing)
    with pytest.raises(RunFailed, match="in epoch 6") as caught:
        list(train(small_spec, load_for(small_spec), store, save_every=2))
    assert hint in caught.value.hint
    run = store.run(small_spec.run_id(load_for(small_spec).fingerprint))
    assert json.loads(run.failure_path.read_text())["epoch"] == 5
    monkeypatch.setattr(Training, "step", real)
    result, events = complete(small_spec, load_for(small_spec), store)
    assert (events[0].resumed_epoch, result["status"]) == (4, "done")
    assert not run.failure_path.exists()


def test_where_memory_is_plentiful_all_activations_are_kept(small_spec, load_for, store):
    result, events = complete(small_spec, load_for(small_spec), store)
    assert result["recompute_every"] == "0"
    memory = events[0].memory
    assert not (memory.notable or memory.frugal) and 0 < memory.peak < memory.free


def test_where_memory_is_scarce_the_run_recomputes_and_comes_to_the_same(small_spec, load_for, tmp_path, monkeypatch):
    spec = small_spec.with_values(layers=6)
    plenty, _ = complete(spec, load_for(spec), Store(tmp_path / "plenty"))
    monkeypatch.setattr(module, "free_memory", lambda device: 1)
    scarce, events = complete(spec, load_for(spec), Store(tmp_path / "scarce"))
    assert events[0].memory.chosen and not events[0].memory.fits
    assert scarce["recompute_every"] == str(events[0].memory.recompute_every) != "0"
    assert {**scarce, "recompute_every": "0"} == plenty
    asked, _ = complete(spec.with_values(recompute_every="4"), load_for(spec), Store(tmp_path / "asked"))
    assert {**asked, "recompute_every": "0"} == plenty and asked["recompute_every"] == "4"


def test_memory_goes_back_to_the_system_where_it_counts(small_spec, load_for, tmp_path, monkeypatch):
    entered = []

    @contextlib.contextmanager
    def watched():
        entered.append(True)
        yield

    monkeypatch.setattr(module, "memory_returned", watched)
    complete(small_spec, load_for(small_spec), Store(tmp_path / "plain"))
    assert not entered
    spec = small_spec.with_values(stack="reversible")
    result, _ = complete(spec, load_for(spec), Store(tmp_path / "reversible"))
    assert entered and (result["recompute_every"], result["status"]) == ("0", "done")


def test_a_trial_that_finds_no_memory_is_a_failed_run(small_spec, load_for, store, monkeypatch):
    def full(*arguments):
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory")

    monkeypatch.setattr(module, "estimate", full)
    with pytest.raises(RunFailed, match="in epoch 1"):
        complete(small_spec, load_for(small_spec), store)
    run = store.run(small_spec.run_id(load_for(small_spec).fingerprint))
    assert "allocate" in json.loads(run.failure_path.read_text())["reason"]


def test_a_full_disk_at_the_end_loses_nothing_but_the_time_to_finish(small_spec, load_for, store, monkeypatch):
    def full(self, result):
        raise RunFailed("Could not write: no space")

    with monkeypatch.context() as patch:
        patch.setattr("lipgnn.results.run.Run.finish", full)
        with pytest.raises(RunFailed):
            complete(small_spec, load_for(small_spec), store)
    result, events = complete(small_spec, load_for(small_spec), store)
    assert events[0].resumed_epoch == result["epochs_run"] == 14


def test_a_kill_between_result_and_csv_is_mended_by_the_next_command(small_spec, load_for, store, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(Store, "rebuild_csv", lambda self: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            complete(small_spec, load_for(small_spec), store)
    assert not store.csv_path.exists()
    complete(small_spec, load_for(small_spec), store)
    assert store.csv_path.exists()


def test_a_split_without_validation_is_refused(small_spec, load_for, store):
    spec = small_spec.with_values(split="random:0:20:0")
    with pytest.raises(DataError, match="has no val nodes"):
        complete(spec, load_for(spec), store)
    assert not store.root.exists()


def test_a_run_learns(small_spec, load_for, store):
    """The planted partition has 4 classes, so chance is 0.25; a convergence check over 3 seeds, with a wide band."""
    accuracies = []
    for seed in range(3):
        spec = dataclasses.replace(small_spec, seed=seed, epochs=60, hidden=4, heads=4, norm="lip")
        accuracies.append(complete(spec, load_for(spec), store)[0]["test_score"])
    assert torch.tensor(accuracies).mean() > 0.75


def test_epochs_to_90_is_the_first_epoch_with_that_training_accuracy(small_spec, load_for, store):
    spec = small_spec.with_values(norm="lip", hidden=4, heads=4, dropout=0, attn_dropout=0, epochs=60)
    result, events = complete(spec, load_for(spec), store)
    reached = [event.epoch for event in events if isinstance(event, Epoch) and event.train_score >= 0.9]
    assert result["epochs_to_90"] == reached[0] > 1
    result, _ = complete(spec.with_values(epochs=2), load_for(spec), store)
    assert result["epochs_to_90"] is None


@pytest.mark.parametrize("cut, asked", [(3, "again"), (6, "once"), (13, "once")])
def test_a_killed_recording_ends_like_an_uninterrupted_one(small_spec, load_for, tmp_path, cut, asked):
    """With checkpoints every 4; a run that has begun to record goes on with it, asked again or not."""
    whole, cut_store = Store(tmp_path / "whole"), Store(tmp_path / "cut")
    expected, _ = complete(small_spec, load_for(small_spec), whole, record=("gradients",))
    running = train(small_spec, load_for(small_spec), cut_store, record=("gradients",), save_every=4)
    for event in running:
        if isinstance(event, Epoch) and event.epoch == cut:
            break
    running.close()
    record = ("gradients",) if asked == "again" else ()
    result, _ = complete(small_spec, load_for(small_spec), cut_store, record=record, save_every=4)
    assert result == expected
    recorded = [store.run(result["run_id"]).recording_path("gradients").read_bytes() for store in (whole, cut_store)]
    assert recorded[0] == recorded[1]
    assert read_recording(whole.run(result["run_id"]).recording_path("gradients"))["epochs"].tolist() == list(
        range(1, 15)
    )


def test_recording_begins_where_it_is_first_asked_for(small_spec, load_for, store):
    with pytest.raises(Interrupted):
        complete(small_spec, load_for(small_spec), store, should_stop=lambda: True)
    result, _ = complete(small_spec, load_for(small_spec), store, record=("gradients",))
    assert read_recording(store.run(result["run_id"]).recording_path("gradients"))["epochs"].tolist() == list(
        range(2, 15)
    )


def test_a_recorded_run_is_the_same_run(small_spec, load_for, tmp_path):
    free, watched = Store(tmp_path / "free"), Store(tmp_path / "watched")
    expected, _ = complete(small_spec, load_for(small_spec), free)
    result, _ = complete(small_spec, load_for(small_spec), watched, record=("gradients",))
    assert result == expected
    assert artifacts(free, result["run_id"]) == artifacts(watched, result["run_id"])


def test_the_gradients_of_a_diverged_run_are_kept_up_to_there(small_spec, load_for, store):
    wild = {"lr": 1e3, "layers": 40, "norm": "none", "residual": "identity", "activation": "none", "epochs": 50}
    spec = small_spec.with_values(**wild)
    result, _ = complete(spec, load_for(spec), store, record=("gradients",))
    assert result["status"] == "diverged"
    path = store.run(result["run_id"]).recording_path("gradients")
    recorded = len(read_recording(path)["epochs"]) if path.exists() else 0
    assert recorded == result["epochs_run"]


def test_all_records_are_recorded_side_by_side(small_spec, load_for, tmp_path):
    """None changes another, nor the run."""
    everything = tuple(name for name in RECORDS if name != "horizons")
    stores = {record: Store(tmp_path / "+".join(record)) for record in [("similarity",), everything]}
    found = []
    for record, store in stores.items():
        result, _ = complete(small_spec.with_values(epochs=3), load_for(small_spec), store, record=record)
        found.append((result, store.run(result["run_id"]).recording_path("similarity").read_bytes()))
    assert found[0] == found[1]
    run = stores[everything].run(result["run_id"])
    epochs = {record: read_recording(run.recording_path(record))["epochs"].tolist() for record in everything}
    every = {"gradients": [1, 2, 3], "similarity": [0, 1, 2, 3], "traffic": [1, 2, 3]}
    assert epochs == {**every, "reach": [0, result["best_epoch"]]}


def test_what_a_run_cannot_record_is_refused_before_it_begins(small_spec, load_for, store):
    with pytest.raises(UsageError, match="--record horizons is of walks along edges, and data set 'planted' has none"):
        complete(small_spec, load_for(small_spec), store, record=("horizons",))
    assert not list(store.root.glob("runs/*"))


def test_the_start_of_a_run_that_diverges_at_once_is_recorded(small_spec, load_for, store):
    """What exploded is what was to be seen."""
    wild = {"layers": 256, "hidden": 32, "model": "gcn", "norm": "none", "residual": "identity", "activation": "relu"}
    spec = small_spec.with_values(**wild, attn_dropout=0, dropout=0, epochs=2)
    result, _ = complete(spec, load_for(spec), store, record=("similarity",))
    assert (result["status"], result["epochs_run"]) == ("diverged", 0)
    arrays = read_recording(store.run(result["run_id"]).recording_path("similarity"))
    assert arrays["epochs"].tolist() == [0]


def test_an_unknown_thing_to_record_is_refused(small_spec, load_for, store):
    with pytest.raises(UsageError, match="Unknown thing to record 'gradient'"):
        complete(small_spec, load_for(small_spec), store, record=("gradient",))
    assert not store.root.exists()


@pytest.mark.parametrize(
    "state",
    [
        {},
        {"epoch": "3"},
        {"last": [1]},
        {"best": {"epoch": 1, "more": 2}},
        {"lr": None},
        {"lr": "fast"},
        {"scheduler": 7},
        {"seconds": []},
        {"unreported": 3},
        {"max_grad_norm": "x"},
    ],
)
def test_a_checkpoint_whose_state_cannot_be_is_refused(small_spec, load_for, store, state):
    dataset = load_for(small_spec)
    with pytest.raises(Interrupted):
        complete(small_spec, dataset, store, should_stop=lambda: True)
    path = store.run(small_spec.run_id(dataset.fingerprint)).path / "last.json"
    described = json.loads(path.read_text())
    path.write_text(json.dumps(described | {"state": described["state"] | state if state else {}}))
    with pytest.raises(DataError, match=r"checkpoint in .* cannot be used"):
        complete(small_spec, dataset, store)


@pytest.fixture
def threads():
    """Set the number of threads; it is set back in the end."""
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


def test_a_resume_with_another_number_of_threads_says_so_and_the_row_leaves_it_open(
    small_spec, load_for, store, threads
):
    dataset = load_for(small_spec)
    threads(1)
    with pytest.raises(Interrupted):
        complete(small_spec, dataset, store, should_stop=lambda: True)
    threads(2)
    result, (started, *_) = complete(small_spec, dataset, store)
    assert (started.threads, started.earlier_threads, started.resumed_epoch) == (2, 1, 1)
    assert "1 thread up to epoch 1 and goes on with 2" in started.note
    assert result["threads"] is None


def test_the_row_has_the_number_of_threads_and_a_resume_with_it_says_nothing(small_spec, load_for, store, threads):
    threads(2)
    with pytest.raises(Interrupted):
        complete(small_spec, load_for(small_spec), store, should_stop=lambda: True)
    result, (started, *_) = complete(small_spec, load_for(small_spec), store)
    assert (result["threads"], started.note, started.resumed_epoch) == (2, None, 1)


@pytest.mark.parametrize("dataset, same_bits", [("planted", True), ("cora", False)])
def test_one_run_by_one_and_by_two_threads_is_as_the_guide_says(
    small_spec, load_for, threads, tmp_path, dataset, same_bits
):
    """One id and the same scores; the same bits of everything on planted, the same losses to five digits on cora."""
    spec = small_spec.with_values(dataset=dataset, norm="lip", epochs=3)
    stores = [Store(tmp_path / str(number)) for number in (1, 2)]
    rows = []
    for number, store in enumerate(stores, start=1):
        threads(number)
        rows.append(complete(spec, load_for(spec), store)[0])
    one, two = rows
    assert (one.pop("threads"), two.pop("threads")) == (1, 2)
    losses = ("train_loss", "val_loss", "max_grad_norm")
    assert {k: v for k, v in one.items() if k not in losses} == {k: v for k, v in two.items() if k not in losses}
    assert [one[name] for name in losses] == pytest.approx([two[name] for name in losses], rel=1e-5)
    if same_bits:
        assert one == two
        assert artifacts(stores[0], one["run_id"]) == artifacts(stores[1], two["run_id"])
    assert [row["run_id"] for row in read_results([tmp_path / "1", tmp_path / "2"]).rows] == [one["run_id"]]


def test_a_diverged_run_keeps_its_last_good_state_as_a_model(small_spec, load_for, store):
    wild = {"lr": 1e3, "layers": 40, "norm": "none", "residual": "identity", "activation": "none", "epochs": 50}
    spec = small_spec.with_values(**wild)
    result, _ = complete(spec, load_for(spec), store)
    saved = load_model(store.find_model(result["run_id"], "last-good"))
    graph, features = load_for(spec).graph, load_for(spec).features
    assert saved.network(graph, features).isfinite().all()
    assert result["diverged_untrained"] is False


def test_what_diverges_before_its_first_step_keeps_what_it_started_from(small_spec, load_for, store):
    wild = {"layers": 256, "hidden": 32, "model": "gcn", "norm": "none", "residual": "identity", "activation": "relu"}
    spec = small_spec.with_values(**wild, attn_dropout=0, dropout=0, epochs=2)
    result, _ = complete(spec, load_for(spec), store)
    assert result["diverged_untrained"] is True
    kept = load_model(store.find_model(result["run_id"], None)).network.state_dict()
    drawn = Training(spec, load_for(spec), torch.device("cpu")).network.state_dict()
    assert all(torch.equal(kept[name], drawn[name]) for name in drawn)
