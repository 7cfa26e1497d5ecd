"""Recorded is what the measure says of the network before training and of the weights that were selected."""

import numpy as np
import pytest
import recording
import torch

from lipgnn.measures.reach import choose_targets, reach
from lipgnn.results.recordings import read_recording
from lipgnn.training.recorders.reach import TARGETS, ReachRecorder


def shares_now(training):
    network, batch = training.network.eval(), training.batches.whole()
    h, logits = network.from_encoder(batch.graph, batch.features)
    found = reach(batch.graph, h, logits, choose_targets(torch.arange(len(h)), TARGETS), network.hops)
    return [*found.shares, found.beyond]


def test_the_start_and_the_selected_epoch_are_recorded(training, tmp_path):
    plain = training(patience=0)
    start = shares_now(plain)
    # One after the other: both draw from the same generator, which a new training sets.
    recording.train(plain, None, 4)
    found = recording.recorded(ReachRecorder, training(patience=0), tmp_path / "reach.safetensors", 4)
    assert found["epochs"].tolist() == [0, plain.best.epoch]
    plain.network.load_state_dict(plain.best_weights)
    np.testing.assert_allclose(found["reach_share"], [start, shares_now(plain)], rtol=1e-5, atol=1e-7)


def test_the_run_does_not_notice(training, tmp_path):
    plain = training(norm="lip+batch")
    lines = recording.train(plain, None, 4)
    watched = training(norm="lip+batch")
    recorder = ReachRecorder(watched)
    assert recording.train(watched, recorder, 4) == lines
    recorder.save(tmp_path / "reach.safetensors")
    assert all(map(torch.equal, watched.network.state_dict().values(), plain.network.state_dict().values()))


@pytest.mark.parametrize("stopped", [1, 3])
def test_a_run_that_is_resumed_has_its_start(stopped, training, tmp_path):
    path, first = tmp_path / "reach.safetensors", training(patience=0)
    found = recording.recorded(ReachRecorder, first, path, stopped)
    assert found["epochs"].tolist() == [0]
    recorder = ReachRecorder(first, found)
    recording.train(first, recorder, 4 - stopped)
    recorder.save(path)
    recorder.save(path)
    assert read_recording(path)["epochs"].tolist() == [0, first.best.epoch]
