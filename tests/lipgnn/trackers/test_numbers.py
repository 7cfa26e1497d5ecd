import math

import numpy as np

from lipgnn.results.recordings import GRADIENTS, SIMILARITY, write_recording
from lipgnn.results.run import Run
from lipgnn.trackers.numbers import of_earlier_epochs, of_epoch, of_layers, of_result


def test_a_line_of_the_log_keeps_its_names_and_loses_what_is_no_number():
    assert of_epoch({"epoch": 3, "val_loss": 0.5, "lr": 1, "grad_norm": math.inf}) == {"val_loss": 0.5, "lr": 1.0}


def test_layers_count_from_one_and_similarity_from_the_encoder():
    gradients = of_layers("gradients", {name: [1.0, math.nan] for name in GRADIENTS})
    assert gradients == {"gradients/weight_norm/layer_001": 1.0, "gradients/input_norm/layer_001": 1.0}
    similarity = of_layers("similarity", {name: [1.0, 2.0] for name in SIMILARITY})
    assert similarity["similarity/rank1/layer_000"] == 1.0 and len(similarity) == 2 * len(SIMILARITY)
    assert of_layers("traffic", {}) == {}


def test_of_a_result_all_scores_and_losses_are_final(result_row):
    found = of_result({**result_row(test_score=0.8), "objective": None})
    assert found["final/test_score"] == 0.8 and found["final/train_loss"] == 0.25
    assert found["final/best_epoch"] == 10 and "final/objective" not in found and "final/lr" not in found


def test_earlier_epochs_are_those_of_the_files_up_to_the_last(tmp_path):
    run = Run(tmp_path)
    for epoch in (2, 4, 6):
        run.append_log({"epoch": epoch, "val_loss": epoch / 8})
    arrays = {name: np.arange(6.0)[:, None] for name in GRADIENTS}
    write_recording(run.recording_path("gradients"), {"epochs": np.arange(1, 7), **arrays})
    found = of_earlier_epochs(run, 4)
    assert list(found) == [1, 2, 3, 4]
    layer = {"gradients/weight_norm/layer_001": 3.0, "gradients/input_norm/layer_001": 3.0}
    assert found[4] == {"val_loss": 0.5, **layer} and found[3].keys() == layer.keys()
    assert of_earlier_epochs(Run(tmp_path / "nothing"), 4) == {}
