import pytest

from cli.report_update import PRINTING

COMMAND = "lipgnn report --rows norm --cols layers --format markdown"
PAGE = f"# Page\n\n<!-- report: {COMMAND} -->\n{{}}<!-- end -->\n\nText.\n"


@pytest.fixture
def page(tmp_path, result_row, write_store):
    """A page with one empty table, beside a store of two norms."""
    write_store(tmp_path / "results", [result_row(norm=norm, layers=2) for norm in ("none", "lip")])
    path = tmp_path / "page.md"
    path.write_text(PAGE.format(""))
    return path


def test_a_page_has_what_the_command_prints_and_is_left_alone_then(invoke, page):
    table = invoke("report", "--rows", "norm", "--cols", "layers", "--format", "markdown")[1]
    code, out, err = invoke("report", "--update", "page.md")
    assert (code, out) == (0, "")
    assert "printed anew" in err
    assert page.read_text() == PAGE.format(table)
    written = page.stat().st_mtime_ns
    assert "as printed" in invoke("report", "--update", "page.md")[2]
    assert page.stat().st_mtime_ns == written


def test_a_table_that_was_changed_by_hand_is_fixed(invoke, page):
    invoke("report", "--update", "page.md")
    right = page.read_text()
    page.write_text(right.replace("50.0", "99.9"))
    invoke("report", "--update", "page.md")
    assert page.read_text() == right


@pytest.mark.parametrize(
    "text, message",
    [
        ("<!-- report: lipgnn report -->\n", "The table that begins in line 1 has no end."),
        ("<!-- report: lipgnn train -->\n<!-- end -->\n", "Line 1 holds no command that prints a report"),
        ("<!-- report: lipgnn report --rows nrom -->\n<!-- end -->\n", "Did you mean 'norm'"),
        ("<!-- report: lipgnn report absent.csv -->\n<!-- end -->\n", "absent.csv"),
    ],
)
def test_a_page_that_cannot_be_printed_is_left_as_it_is(invoke, page, text, message):
    page.write_text(text)
    code, _, err = invoke("report", "--update", "page.md")
    assert code == 2
    assert message in err
    assert page.read_text() == text


def test_it_takes_no_other_option(invoke, page):
    code, _, err = invoke("report", "--update", "page.md", "--rows", "norm")
    assert code == 2
    assert "no other option" in err


@pytest.mark.parametrize(
    "name, words",
    [
        ("absent.md", "There is no page 'absent.md'."),
        ("results", "Cannot read the page 'results': Is a directory."),
        ("bytes.md", "Cannot read the page 'bytes.md': it is no text in UTF-8."),
    ],
)
def test_a_page_that_cannot_be_read_is_said_in_words(invoke, page, name, words):
    (page.parent / "bytes.md").write_bytes(b"\xff")
    code, _, err = invoke("report", "--update", name)
    assert code == 2 and words in err and "Errno" not in err and "Give " in err


@pytest.mark.parametrize(
    "words",
    [
        "-o/{outside}/x.csv",
        "-o {outside}/x.csv",
        "--output={outside}/x.csv",
        "--outp {outside}/x.csv",
        "--html {outside}/x.html",
        "--htm={outside}/x.html",
        "--figure depth -o{outside}/x.png",
        "--figure-data",
        "--update page.md",
        "--debug",
        "--help",
        "{outside}",
        "--results {outside}",
        "../{outside.name}",
        "-- -o{outside}/x.csv ../{outside.name}",
    ],
)
def test_a_page_may_only_print(invoke, page, result_row, write_store, words, tmp_path_factory):
    """By what the parser makes of the words, not by how they look."""
    outside = tmp_path_factory.mktemp("outside")
    write_store(outside, [result_row()])
    before = sorted(outside.rglob("*"))
    text = f"<!-- report: lipgnn report {words.format(outside=outside)} -->\n<!-- end -->\n"
    page.write_text(text)
    code, out, err = invoke("report", "--update", "page.md")
    assert (code, out) == (2, ""), err
    assert "Line 1 cannot be printed" in err
    assert sorted(outside.rglob("*")) == before
    assert page.read_text() == text


def test_every_option_of_report_is_known_to_print_or_to_write():
    from cli.report import command

    writing = {"output", "figure", "figure_data", "page", "update", "debug"}
    assert {parameter.name for parameter in command.params} == {*PRINTING, *writing}
