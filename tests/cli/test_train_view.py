from types import SimpleNamespace

import pytest

from cli.train_view import announce, summarize


@pytest.fixture
def shown(capsys, result_row, tmp_path):
    def show(**values):
        row = {**result_row(), "diverged_at": None, **values}
        summarize(row, "accuracy", tmp_path)
        out, err = capsys.readouterr()
        return out + err

    return show


def test_a_summary_says_what_workers_sent(shown):
    text = shown(workers=2, batch_size=8, sent_mb=1.5, dense_mb=50.0)
    assert "1.5 MB, 3.0% of all gradients" in text
    (line,) = [line for line in text.splitlines() if "workers" in line]
    assert line.split()[1:3] == ["workers", "2"]


def test_nothing_is_said_of_traffic_where_there_is_none(shown):
    assert "sent" not in shown(sent_mb=None, dense_mb=None)


def test_what_begins_comes_with_its_note_and_its_caution(capsys, small_spec):
    memory = SimpleNamespace(notable=False, recompute_every=0)
    said = {"shorter": "It goes on.", "note": "Bits differ.", "slower": "It crawls.", "caution": "Norms differ."}
    said |= {"memory": memory, "spec": small_spec}
    known = dict.fromkeys(("run_id", "device", "device_reason", "kernel", "kernel_reason"), "x")
    announce(SimpleNamespace(**said, **known, parameters=1, resumed_epoch=3))
    err = capsys.readouterr().err
    assert all(f"Note: {said[name]}" in err for name in ("shorter", "note", "slower", "caution"))
    assert "going on after epoch 3" in err


def test_advice_after_divergence_fits_its_cause(shown):
    later = shown(status="diverged", epochs_run=7, diverged_at="output of the layer 3", lr=0.01)
    assert "in epoch 8" in later and "--at last-good" in later
    assert "--lr 0.002" in later and "--from" in later
    at_once = shown(status="diverged", epochs_run=0, diverged_untrained=True, diverged_at="gradient of the layer 3")
    assert "before its first step" in at_once and "--lr 0.005" in at_once and "--from" not in at_once


def test_a_run_from_a_model_suggests_what_can_be_typed(shown):
    assert "--start" not in shown(start="model:" + "0" * 16).partition("Next:")[2]
