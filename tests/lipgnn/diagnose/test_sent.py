import json

import pytest

from lipgnn.diagnose.sent import sent_parts, silent_parts


@pytest.fixture
def model(write_store, result_row, tmp_path):
    def make(**values):
        row = result_row(**values)
        return write_store(tmp_path, [row]) / "runs" / row["run_id"] / "best.safetensors"

    return make


def test_every_part_has_its_share(model):
    assert sent_parts(model(sent_shares="0.5 - 0 1")) == [
        {"part": "encoder", "share": 0.5},
        {"part": "layer 1", "share": None},
        {"part": "layer 2", "share": 0.0},
        {"part": "decoder", "share": 1.0},
    ]


@pytest.mark.parametrize("values", [{}, {"sent_shares": None}])
def test_where_all_is_sent_there_is_nothing_to_say(model, values):
    assert sent_parts(model(**values)) is None


def test_a_file_of_no_run_has_none(tmp_path):
    assert sent_parts(None) is None
    assert sent_parts(tmp_path / "other.safetensors") is None
    assert sent_parts(tmp_path / "nowhere" / "other.safetensors") is None


def test_layers_that_never_sent_are_named():
    shares = {"encoder": 0.1, "layer 1": 0.0, "layer 2": 0.0, "decoder": None}
    parts = [{"part": part, "share": share} for part, share in shares.items()]
    sentence = (
        "Of the gradients of layer 1 and layer 2 nothing was ever sent, so layer 1 and layer 2 were never trained."
    )
    assert silent_parts(parts) == sentence
    assert silent_parts(parts[:2]).endswith("so layer 1 was never trained.")
    assert silent_parts(parts[:1]) is None
    assert json.dumps(parts)
