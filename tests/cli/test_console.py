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


def test_columns_may_have_as_many_decimals_each():
    assert [console.cell(value, 2) for value in (3.14159, 12.0, None, 7, "a")] == ["3.14", "12.00", "–", "7", "a"]


def test_decimals_are_those_of_their_column(capsys):
    console.print_table(["a", "b"], [[0.12345, 0.12345]], decimals=[None, 3])
    assert capsys.readouterr().out.splitlines()[-2].split() == ["0.1235", "0.123"]


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
    "width, told", [(20, "one two-three four"), (18, "one two-three four"), (17, "one two-three …"), (5, "one …")]
)
def test_a_line_is_cut_between_words(width, told):
    assert console.whole_words("one two-three four", width) == told


def test_what_the_first_seconds_are_for_is_said_at_a_terminal_alone(capsys, monkeypatch):
    console.loading()
    assert capsys.readouterr().err == ""
    screen = io.StringIO()
    monkeypatch.setattr(console, "err", lambda: console.Console(file=screen, force_terminal=True))
    console.loading()
    assert "are being loaded" in screen.getvalue()


@pytest.mark.parametrize("width, blocks", [(80, 1), (45, 2), (30, 3)])
def test_a_narrow_terminal_gets_blocks_of_columns(monkeypatch, width, blocks):
    terminal = console.Console(file=io.StringIO(), force_terminal=True, width=width, color_system=None)
    monkeypatch.setattr(console, "out", lambda: terminal)
    rows = [["0123456789ab", "done", 0.987654, "planted"], ["ba9876543210", "diverged", None, "cora"]]
    console.print_table(["run", "status", "test", "data"], rows, title="Runs")
    shown = terminal.file.getvalue()
    assert shown.count("Runs") == 1
    assert shown.count("0123456789ab") == shown.count("run ") == blocks
    assert all(shown.count(word) == 1 for word in ("diverged", "0.9877", "planted"))


def test_lines_below_a_table_are_not_broken(capsys):
    console.print_table(["n"], [[1]], below=["word " * 60])
    assert ("word " * 60).strip() in capsys.readouterr().out


def test_json_is_one_line_and_refuses_what_is_not_json(capsys):
    console.print_json({"a": "é", "b": None})
    assert capsys.readouterr().out == '{"a": "\\u00e9", "b": null}\n'
    with pytest.raises(ValueError):
        console.print_json({"a": float("nan")})


@pytest.mark.parametrize(
    "count, shown", [(None, "–"), (0, "0 bytes"), (999, "999 bytes"), (1000, "1.0 kB"), (1_380_000_000, "1.4 GB")]
)
def test_sizes(count, shown):
    assert console.size(count) == shown


@pytest.mark.parametrize("width, widest", [(60, 60), (300, 100)])
def test_a_page_is_rendered_for_a_terminal_in_lines_that_can_be_read(capsys, monkeypatch, width, widest):
    terminal = console.Console(file=io.StringIO(), force_terminal=True, width=width, color_system=None)
    monkeypatch.setattr(console, "out", lambda: terminal)
    console.print_markdown(f"# Title\n\n{'word ' * 200}\n\n[a page](other.md)\n")
    shown = terminal.file.getvalue()
    assert max(len(line.rstrip()) for line in shown.splitlines()) <= widest
    assert "# Title" not in shown and "a page (other.md)" in shown


def test_a_page_is_left_as_it_is_in_a_pipe(capsys):
    console.print_markdown("# Title\n\n[red]x[/red] | y\n")
    assert capsys.readouterr().out == "# Title\n\n[red]x[/red] | y\n"
