"""Recorded is what an evaluation of the selected weights says of the windows of every horizon."""

import math

import numpy as np
import pytest
import recording
import torch
from wanderers import wanderers

from lipgnn.catalog import PATH_MEASURES, WALKERS
from lipgnn.results.recordings import archive_recordings, archived_path, read_recording
from lipgnn.results.store import Store
from lipgnn.spec.sources import resolve
from lipgnn.tasks.batches import logits_of
from lipgnn.tasks.walkers import measured, rows_of
from lipgnn.training.recorders.horizons import HorizonRecorder
from lipgnn.training.state import Training
from lipgnn.walks.outcomes import OUTCOMES

OPTIONS = {"dataset": "planar", "model": "diffusion", "layers": 3, "observed": 2, "epochs": 3, "lr": 0.1}


@pytest.fixture
def training():
    spec = resolve({**OPTIONS, "dtype": "float64"}, {}).spec
    return lambda: Training(spec, wanderers(longest=5), torch.device("cpu"))


def test_every_walk_has_its_measures_by_horizon_at_the_epoch_selected(training, tmp_path):
    plain = training()
    recording.train(plain, None, 3)
    found = recording.recorded(HorizonRecorder, training(), tmp_path / "horizons.safetensors", 3)
    assert found["epochs"].tolist() == [plain.best.epoch]
    plain.network.load_state_dict(plain.best_weights)
    rows = {
        "model": logits_of(plain.network.eval(), plain.batches)[plain.parts["test"]],
        **rows_of(plain.batches, {"uniform": "plain", "uniform-nb": "nb"}),
    }
    for place, walker in enumerate(WALKERS):
        own = torch.nn.functional.pad(rows[walker].double()[:, : len(OUTCOMES)], (0, 2), value=math.nan)
        steps = own[:, OUTCOMES.index("horizon")]
        for horizon in range(found["path_nll"].shape[2]):
            expected = measured(own[steps == horizon])
            for name in PATH_MEASURES:
                value = math.nan if expected[name] is None else expected[name]
                assert found[name][0, place, horizon] == pytest.approx(value, nan_ok=True)
            count = int((steps == horizon).sum())
            assert np.nan_to_num(found["horizon_windows"][0, place, horizon]) == count


def test_the_run_does_not_notice(training, tmp_path):
    plain, watched = training(), None
    lines = recording.train(plain, None, 3)
    watched = training()
    recorder = HorizonRecorder(watched)
    assert recording.train(watched, recorder, 3) == lines
    recorder.save(tmp_path / "horizons.safetensors")
    assert all(map(torch.equal, watched.network.state_dict().values(), plain.network.state_dict().values()))


def test_nothing_is_written_before_the_end_and_once_then(training, tmp_path):
    path, run = tmp_path / "horizons.safetensors", training()
    recorder = HorizonRecorder(run)
    recording.train(run, recorder, 2)
    recorder.save(path)
    assert not path.exists()
    recording.train(run, recorder, 1)
    recorder.save(path)
    again = HorizonRecorder(run, read_recording(path))
    again.save(path)
    assert read_recording(path)["epochs"].tolist() == [run.best.epoch]


def test_the_archived_form_is_good_to_one_percent(training, tmp_path):
    store = Store(tmp_path)
    path = store.run("ab0000000000").recording_path("horizons")
    path.parent.mkdir(parents=True)
    found = recording.recorded(HorizonRecorder, training(), path, 3)
    archive_recordings(store, ["ab0000000000"], tmp_path / "archived")
    kept = read_recording(archived_path(tmp_path / "archived", "ab0000000000", "horizons"))
    for name, numbers in found.items():
        np.testing.assert_allclose(kept[name], numbers, rtol=0.01, atol=1e-9)
