import io

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cli import console


@pytest.mark.parametrize(
    "value, shown",
    [
        (None, "–"),
        ("", "–"),
        (True, "yes"),
        (0.123456, "0.1235"),
        (12, "12"),
        ("a[/x]b", "a[/x]b"),
        ("\x1b[31m", "\\x1b[31m"),
        ("\u202e", "\\u202e"),
    ],
)
def test_cells(value, shown):
    assert console.cell(value) == shown


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text())
def test_no_text_from_outside_is_markup_or_steers_the_terminal(capsys, text):
    capsys.readouterr()
    console.fail(text, text)
    console.note(text)
    console.print_panel(text, [("name", text)])
    console.print_table(["a"], [[text]], title=text)
    console.print_text(text)
    captured = capsys.readouterr()
    assert not {c for c in captured.out + captured.err if not c.isprintable()} - {"\n"}


def test_markup_is_shown_as_it_is(capsys):
    console.note("[bold]x[/bold] :smile: [/nothing]")
    assert capsys.readouterr().err == "[bold]x[/bold] :smile: [/nothing]\n"


def test_long_lines_to_copy_are_not_broken(capsys):
    line = "lipgnn train " + "--layers 30 " * 40
    console.print_next(line.strip())
    assert line.strip() in capsys.readouterr().err


def test_tables_align_numbers_right(capsys):
    console.print_table(["name", "n"], [["a", 1], ["b", 1000]])
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert lines[-2].endswith(" 1") and len(lines[-2]) == len(lines[-1])


def test_whether_a_table_fits_is_told_by_its_longest_words(monkeypatch):
    rows = [["two words", 1000]]
    for width, fits in ((100, True), (18, True), (12, False)):
        terminal = console.Console(file=io.StringIO(), force_terminal=True, width=width)
        monkeypatch.setattr(console, "out", lambda terminal=terminal: terminal)
        assert console.fits(["a", "b"], rows) is fits
    monkeypatch.setattr(console, "out", lambda: console.Console(file=io.StringIO(), width=12))
    assert console.fits(["a", "b"], rows)


@pytest.mark.parametrize(
    "seconds, told", [(None, "–"), (7, "7 s"), (90, "1.5 min"), (5400, "1.5 h"), (2e5, "55.6 h"), (1e6, "12 days")]
)
def test_times_to_wait_are_in_the_unit_that_suits_them(seconds, told):
    assert console.duration(seconds) == told


def test_lines_below_a_table_are_not_broken(capsys):
    console.print_table(["n"], [[1]], below=["word " * 60])
    assert ("word " * 60).strip() in capsys.readouterr().out


def test_the_status_line_is_for_terminals(capsys, monkeypatch):
    with console.StatusLine() as tell:
        tell("measuring")
    assert capsys.readouterr().err == ""
    terminal = io.StringIO()
    monkeypatch.setattr(console, "err", lambda: console.Console(file=terminal, force_terminal=True, width=40))
    with console.StatusLine() as tell:
        tell("measuring [b]this[/b]")
        assert "measuring [b]this[/b]" in terminal.getvalue()


def test_json_is_one_line_and_refuses_what_is_not_json(capsys):
    console.print_json({"a": "é", "b": None})
    assert capsys.readouterr().out == '{"a": "é", "b": null}\n'
    with pytest.raises(ValueError):
        console.print_json({"a": float("nan")})


def test_progress_off_a_terminal_is_a_line_every_tenth(capsys):
    with console.EpochProgress(100, quiet=False, every_epoch=False) as progress:
        for epoch in range(1, 101):
            progress.update(epoch, f"epoch {epoch}")
    assert capsys.readouterr().err.splitlines() == ["epoch 1", *(f"epoch {k}" for k in range(10, 101, 10))]


@pytest.mark.parametrize("quiet, lines", [(True, 0), (False, 30)])
def test_quiet_and_verbose(capsys, quiet, lines):
    with console.EpochProgress(30, quiet=quiet, every_epoch=True) as progress:
        for epoch in range(1, 31):
            progress.update(epoch, "x")
    assert len(capsys.readouterr().err.splitlines()) == lines


def test_progress_on_a_terminal_is_a_bar_with_time_left(monkeypatch):
    screen = io.StringIO()
    monkeypatch.setattr(
        console, "err", lambda: console.Console(file=screen, force_terminal=True, width=80, highlight=False)
    )
    with console.EpochProgress(4, quiet=False, every_epoch=False) as progress:
        status = "epoch 100/200  loss 0.2996  train 0.975  val 0.970  grad 2.2e+01"
        progress.update(2, status)
    assert status in screen.getvalue()
    assert "━" in screen.getvalue()
    assert ":" in screen.getvalue()


def test_bytes_off_a_terminal_are_a_line_every_tenth(capsys):
    with console.ByteProgress(2_000_000) as progress:
        for done in range(0, 2_000_001, 50_000):
            progress(done)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 11 and lines[0] == "0 bytes of 2.0 MB" and lines[-1] == "2.0 MB of 2.0 MB"


def test_bytes_on_a_terminal_are_a_bar(monkeypatch):
    screen = io.StringIO()
    monkeypatch.setattr(console, "err", lambda: console.Console(file=screen, force_terminal=True, width=80))
    with console.ByteProgress(4_000_000) as progress:
        progress(1_000_000)
    assert "1.0/4.0 MB" in screen.getvalue()


@pytest.mark.parametrize(
    "count, shown", [(None, "–"), (0, "0 bytes"), (999, "999 bytes"), (1000, "1.0 kB"), (1_380_000_000, "1.4 GB")]
)
def test_sizes(count, shown):
    assert console.size(count) == shown
