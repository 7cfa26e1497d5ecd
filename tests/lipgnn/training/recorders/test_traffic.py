"""Recorded is the objective of what is evaluated, and what was sent up to then."""

import numpy as np
import pytest
import recording

from lipgnn.training.recorders.traffic import TrafficRecorder


def test_the_objective_is_the_training_loss_with_its_penalty(training, tmp_path):
    plain = training(compress="topk:0.1", weight_decay=0.01, layer_weight_decay="same")
    found = recording.recorded(TrafficRecorder, plain, tmp_path / "traffic.safetensors", 3)
    assert found["epochs"].tolist() == [1, 2, 3]
    squares = sum(parameter.double().square().sum().item() for parameter in plain.network.parameters())
    assert found["objective_course"][-1, 0] == pytest.approx(plain.last.train_loss + 0.01 / 2 * squares, rel=1e-5)
    sent = plain.learner.traffic()["sent_mb"]
    np.testing.assert_allclose(found["sent_course"][:, 0], [sent / 3, 2 * sent / 3, sent], rtol=1e-6)


def test_a_run_that_sends_nothing_has_the_objective_alone(training, tmp_path):
    found = recording.recorded(TrafficRecorder, training(), tmp_path / "traffic.safetensors", 2)
    assert np.isnan(found["sent_course"]).all()
    assert np.isfinite(found["objective_course"]).all()


def test_an_epoch_without_an_evaluation_has_no_objective(training, tmp_path):
    run = training(eval_every=2, epochs=4)
    recorder = TrafficRecorder(run)
    for _ in range(4):
        run.step()
        recorder.end_epoch(run.epoch)
    recorder.save(tmp_path / "traffic.safetensors")
    found = recording.read_recording(tmp_path / "traffic.safetensors")["objective_course"][:, 0]
    assert np.isnan(found).tolist() == [True, False, True, False]


def test_the_run_does_not_notice(training):
    options = {"optimizer": "memsgd", "compress": "topk:0.1"}
    lines = recording.train(training(**options), None, 4)
    watched = training(**options)
    assert recording.train(watched, TrafficRecorder(watched), 4) == lines
