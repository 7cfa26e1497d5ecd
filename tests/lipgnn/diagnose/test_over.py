"""What a run recorded, epoch by epoch, and what it has not."""

import math

import numpy as np
import pytest

from lipgnn.diagnose.over import COLUMNS, by_epoch, by_layer, over_epochs, recorded_similarity
from lipgnn.errors import UsageError
from lipgnn.results.recordings import SIMILARITY, write_recording
from lipgnn.results.run import Run
from lipgnn.results.store import Store


@pytest.fixture
def arrays():
    names = {name: np.arange(1, 7, dtype=np.float32).reshape(2, 3) * 2**k for k, name in enumerate(SIMILARITY)}
    return {"epochs": np.array([0, 5]), **names}


def test_an_epoch_has_its_first_and_its_last_layer(arrays):
    first, second = by_epoch(arrays)
    assert tuple(first) == COLUMNS
    # grad_norm is 2, 4, 6 and 8, 10, 12; feat_mu over feat_norm is a half everywhere; rank1 is 16 times 1 … 6.
    assert first == {
        "epoch": 0,
        "grad_first": 2.0,
        "grad_last": 6.0,
        "grad_growth": pytest.approx(1 / 3),
        "feat_ratio": 0.5,
        "rank1_residual": 48.0,
    }
    assert (second["epoch"], second["grad_growth"]) == (5, pytest.approx(2 / 3))


def test_what_is_not_finite_is_none(arrays):
    arrays["grad_norm"][0] = (math.inf, 1, 1)
    arrays["feat_norm"][1, 2] = 0
    arrays["grad_mu"][1, 1] = math.nan
    first, second = by_epoch(arrays)
    assert (first["grad_first"], first["grad_growth"]) == (None, None)
    assert second["feat_ratio"] is None
    assert by_layer(arrays)["grad_mu"] == [[1, 2, 3], [4, None, 6]]


def test_a_run_that_recorded_is_read_and_another_told_how(tmp_path, arrays):
    run = Run(tmp_path / "abc")
    with pytest.raises(UsageError) as caught:
        recorded_similarity(run)
    assert "--record similarity" in caught.value.hint
    run.path.mkdir()
    write_recording(run.recording_path("similarity"), arrays)
    for name, array in recorded_similarity(run).items():
        assert (array == arrays[name]).all()


def test_a_run_is_found_and_its_epochs_are_told(tmp_path, arrays):
    store = Store(tmp_path)
    run = store.run("abc123000000")
    run.path.mkdir(parents=True)
    run.spec_path.write_text("{}")
    write_recording(run.recording_path("similarity"), arrays)
    for reference in ("abc", str(run.path)):
        found = over_epochs(reference, store)
        assert found == {"run_id": "abc123000000", "epochs": by_epoch(arrays), **by_layer(arrays)}
    with pytest.raises(UsageError, match="Only a run has epochs"):
        over_epochs(None, store)
