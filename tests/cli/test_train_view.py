from types import SimpleNamespace

import pytest

from cli.train_view import announce, summarize


@pytest.fixture
def shown(capsys, result_row, tmp_path):
    def show(**values):
        row = {**result_row(**values), "diverged_at": None}
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
    said = {
        "shorter": "It goes on.",
        "note": "Bits differ.",
        "caution": "Norms differ.",
        "memory": memory,
        "spec": small_spec,
    }
    known = dict.fromkeys(("run_id", "device", "device_reason", "kernel", "kernel_reason"), "x")
    announce(SimpleNamespace(**said, **known, parameters=1, resumed_epoch=3))
    err = capsys.readouterr().err
    assert (
        "Note: Bits differ." in err
        and "Note: It goes on." in err
        and "Note: Norms differ." in err
        and "going on after epoch 3" in err
    )
