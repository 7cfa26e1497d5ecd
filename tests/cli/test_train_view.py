import pytest

from cli.train_view import show_sources, status, summarize
from lipgnn.spec.run import RunSpec
from lipgnn.spec.sources import resolve
from lipgnn.training.selection import Epoch


def test_a_line_about_an_epoch_has_room_for_the_last():
    epoch = Epoch(7, 1.5, 0.25, 1.0, 0.5, 0.5, grad_norm=0.125, lr=0.1, best_epoch=7, seconds=1.0)
    assert status(epoch, 200).startswith("epoch   7/200  loss ")


def test_every_value_is_shown_with_its_source(capsys):
    show_sources(resolve({"layers": "7"}, {"LIPGNN_LR": "0.5"}))
    err = capsys.readouterr().err
    assert "layers = 7  (flag)" in err and "lr = 0.5  (environment)" in err


@pytest.mark.parametrize("status_, next_", [("done", "lipgnn evaluate abcdefabcdef"), ("diverged", "--lr")])
def test_the_summary_ends_with_what_to_type_next(result_row, capsys, tmp_path, status_, next_):
    row = result_row(**RunSpec(layers=3).to_dict(), run_id="abcdefabcdef", status=status_)
    summarize({**row, "diverged_at": "output of layer 2"}, "accuracy", tmp_path)
    out, err = capsys.readouterr()
    assert "3 layers" in out and "abcdefabcdef" in out and "per epoch" in out
    assert next_ in err and f"--results {tmp_path}" in err
