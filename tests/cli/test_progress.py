"""Progress: bars on a terminal, lines elsewhere, and nothing that is not asked for."""

import io

import pytest
from rich.console import Console

from cli.progress import ByteProgress, EpochProgress, LayerProgress, LiveLines, StatusLine


@pytest.fixture
def terminal(monkeypatch):
    """A terminal of so many columns, as a file of what it was sent: terminal(60)."""

    def make(width):
        screen = io.StringIO()
        shown = Console(file=screen, force_terminal=True, width=width, highlight=False, color_system=None)
        monkeypatch.setattr("cli.progress.err", lambda: shown)
        return screen

    for name in ("JPY_PARENT_PID", "JPY_SESSION_NAME", "COLAB_RELEASE_TAG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    return make


def test_the_status_line_is_for_terminals(capsys, monkeypatch):
    with StatusLine() as tell:
        tell("measuring")
    assert capsys.readouterr().err == ""
    terminal = io.StringIO()
    monkeypatch.setattr("cli.progress.err", lambda: Console(file=terminal, force_terminal=True, width=40))
    with StatusLine() as tell:
        tell("measuring [b]this[/b]")
        assert "measuring [b]this[/b]" in terminal.getvalue()


def test_progress_off_a_terminal_is_a_line_every_tenth(capsys):
    with EpochProgress(quiet=False, every_epoch=False) as progress:
        progress.begin(100)
        for epoch in range(1, 101):
            progress.update(epoch, f"epoch {epoch}")
    assert capsys.readouterr().err.splitlines() == ["epoch 1", *(f"epoch {k}" for k in range(10, 101, 10))]


def test_a_run_after_another_has_a_bar_of_its_own(capsys):
    with EpochProgress(quiet=False, every_epoch=False) as progress:
        for epochs in (20, 10):
            progress.begin(epochs)
            for epoch in range(1, epochs + 1):
                progress.update(epoch, f"{epoch} of {epochs}")
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["1 of 20", *(f"{k} of 20" for k in range(2, 21, 2)), *(f"{k} of 10" for k in range(1, 11))]


@pytest.mark.parametrize("quiet, lines", [(True, 0), (False, 30)])
def test_quiet_and_verbose(capsys, quiet, lines):
    with EpochProgress(quiet=quiet, every_epoch=True) as progress:
        progress.begin(30)
        for epoch in range(1, 31):
            progress.update(epoch, "x")
    assert len(capsys.readouterr().err.splitlines()) == lines


def test_progress_on_a_terminal_is_a_bar_with_time_left(monkeypatch):
    screen = io.StringIO()
    monkeypatch.setattr(
        "cli.progress.err", lambda: Console(file=screen, force_terminal=True, width=80, highlight=False)
    )
    with EpochProgress(quiet=False, every_epoch=False) as progress:
        progress.begin(4)
        status = "epoch 100/200  loss 0.2996  val 0.970  train 0.975"
        progress.update(2, status)
    assert status in screen.getvalue()
    assert "━" in screen.getvalue()
    assert ":" in screen.getvalue()


def test_a_narrow_terminal_has_bar_time_left_and_whole_numbers(terminal):
    screen = terminal(60)
    with EpochProgress(quiet=False, every_epoch=False) as progress:
        progress.begin(200)
        progress.update(100, "epoch 100/200  loss 0.2996  val 0.970  train 0.975  grad 2.2e+01")
    last = screen.getvalue().splitlines()[-2]
    assert "epoch 100/200  loss 0.2996  val 0.970 ━━━━━" in last and "train" not in last
    assert last.endswith(("-:--:--", ":00"))


def test_the_bar_says_that_a_run_is_about_to_stop(terminal):
    screen, asked = terminal(60), []
    with EpochProgress(quiet=False, every_epoch=False, stopping=lambda: bool(asked)) as progress:
        progress.begin(200)
        progress.update(7, "epoch   7/200  loss 0.2996")
        assert "stopping" not in screen.getvalue()
        asked.append(True)
        progress.bar.refresh()
    assert "epoch   7/200  stopping after this epoch" in screen.getvalue()


def test_lines_of_workers_are_cut_between_words_and_the_time_left_is_told(terminal):
    screen = terminal(40)
    lines = LiveLines(4, 2, shown=True, left=lambda: (0.5, "1.5 min left"), last_words=lambda: "best val 0.9: seed=1")
    lines.worker(0, "epoch 15/30  val 0.920  layers=30 norm=lip seed=0")
    lines.overall(1)
    lines.screen.refresh()
    lines.stop()
    shown = screen.getvalue()
    assert "1/4 runs ━" in shown and " 1.5 min left" in shown
    assert "1: epoch 15/30  val 0.920  layers=30 …" in shown and "norm" not in shown
    assert "best val 0.9: seed=1" in shown


def test_a_cell_of_a_notebook_gets_no_frames(terminal, monkeypatch):
    screen = terminal(80)
    monkeypatch.setenv("JPY_PARENT_PID", "1")
    lines = LiveLines(4, 2, shown=True, left=lambda: (0.5, ""), last_words=str)
    assert not lines.on_terminal
    with EpochProgress(quiet=False, every_epoch=False) as progress, StatusLine() as tell, ByteProgress(10) as read:
        progress.begin(10)
        tell("measuring")
    assert not progress.live and not read.live and screen.getvalue() == ""


def test_bytes_off_a_terminal_are_a_line_every_tenth(capsys):
    with ByteProgress(2_000_000) as progress:
        for done in range(0, 2_000_001, 50_000):
            progress(done)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 11 and lines[0] == "0 bytes of 2.0 MB" and lines[-1] == "2.0 MB of 2.0 MB"


def test_bytes_on_a_terminal_are_a_bar(monkeypatch):
    screen = io.StringIO()
    monkeypatch.setattr("cli.progress.err", lambda: Console(file=screen, force_terminal=True, width=80))
    with ByteProgress(4_000_000) as progress:
        progress(1_000_000)
    assert "1.0/4.0 MB" in screen.getvalue()


@pytest.mark.parametrize("shown", [True, False])
def test_a_bar_over_layers_is_for_terminals(capsys, monkeypatch, shown):
    with LayerProgress(shown=shown) as tell:
        tell(1, 4, "width 8")
    assert capsys.readouterr().err == ""
    screen = io.StringIO()
    monkeypatch.setattr("cli.progress.err", lambda: Console(file=screen, force_terminal=True, width=80))
    with LayerProgress(shown=shown) as tell:
        tell(1, 4, "width 8")
    assert ("width 8: 1 of 4 layers" in screen.getvalue()) == shown
