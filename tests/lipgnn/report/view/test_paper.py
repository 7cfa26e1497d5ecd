"""Tables for papers: what an author gives, and columns that fit a page."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lipgnn.errors import UsageError
from lipgnn.report.view.formats import flat_headers, latex
from lipgnn.report.view.paper import blocks, for_paper
from lipgnn.report.view.printed import Entry, Printed, as_printed


def grid(spans, texts=("1.0",), label="none"):
    """One header above columns that it spans, and another above each of them."""
    headers = [[(f"group {n}", span) for n, span in enumerate(spans)], [(f"c{n}", 1) for n in range(sum(spans))]]
    entries = [Entry(texts[n % len(texts)], "bold" if n % 2 else None, "") for n in range(sum(spans))]
    return Printed(("norm",), headers, [((label,), entries)], "what it is.", ["a note."])


def test_a_caption_of_ones_own_keeps_what_the_numbers_are(table):
    plain = as_printed(table)
    own = for_paper(plain, caption="50% of $x$", label="tab:depth_1")
    assert own.caption == "50% of $x$" and own.notes == [plain.caption, *plain.notes]
    lines = latex(own).splitlines()
    assert lines[lines.index(r"\caption{50\% of \$x\$}") + 1] == r"\label{tab:depth_1}"
    assert any("sample standard deviation" in line and r"\footnotesize" in line for line in lines)
    assert r"\label" not in latex(plain)


@pytest.mark.parametrize("label", ["", "a b", "tab:{x}", "a%b", "\\x", "ü"])
def test_a_label_that_latex_would_not_take_is_refused(table, label):
    with pytest.raises(UsageError, match="is no label"):
        for_paper(as_printed(table), label=label)


def test_a_turned_table_says_what_it_needs(table):
    text = latex(for_paper(as_printed(table), wide="turn"))
    assert text.count("{sidewaystable}") == 2 and r"\begin{table}" not in text
    assert text.splitlines()[1] == r"% needs \usepackage{booktabs} and \usepackage{rotating}"


def test_a_broken_table_repeats_labels_and_headers(table):
    wide = grid((3, 2), texts=("x" * 20,))
    first, second = blocks(wide, limit=80)
    assert first.headers == [[("group 0", 3)], [("c0", 1), ("c1", 1), ("c2", 1)]]
    assert second.headers == [[("group 1", 2)], [("c3", 1), ("c4", 1)]]
    assert first.rows[0][0] == second.rows[0][0] == ("none",)
    text = latex(for_paper(wide, wide="break"))
    assert text.count(r"\begin{tabular}{lccc}") == text.count(r"\begin{tabular}{lcc}") == 1
    assert text.count(r"\caption") == text.count("a note.") == 1


def test_a_header_over_columns_of_two_blocks_stands_in_both():
    first, second = blocks(grid((4,), texts=("x" * 20,)), limit=60)
    assert first.headers[0] == second.headers[0] == [("group 0", 2)]


def test_a_pair_below_one_header_is_not_broken_apart():
    """A score and its comparison: of five pairs two have room, and half a third one."""
    parts = blocks(grid((2,) * 5, texts=("x" * 12,)), limit=80)
    assert [part.headers[0] for part in parts] == [
        [("group 0", 2), ("group 1", 2)],
        [("group 2", 2), ("group 3", 2)],
        [("group 4", 2)],
    ]


def test_where_the_upper_header_is_too_wide_columns_stay_together_below_the_next():
    wide = grid((2, 2, 2), texts=("x" * 12,))
    parts = blocks(replace(wide, headers=[[("cora", 6)], *wide.headers]), limit=80)
    assert [part.headers[:2] for part in parts] == [
        [[("cora", 4)], [("group 0", 2), ("group 1", 2)]],
        [[("cora", 2)], [("group 2", 2)]],
    ]


@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=5),
    st.lists(st.text("x", min_size=1, max_size=30), min_size=1, max_size=4),
    st.integers(1, 90),
)
def test_no_column_is_lost_and_no_block_is_too_wide(spans, texts, limit):
    whole = grid(spans, texts)
    parts = blocks(whole, limit)
    assert [entry for part in parts for entry in part.rows[0][1]] == whole.rows[0][1]
    assert [header for part in parts for header in flat_headers(part)] == flat_headers(whole)
    for part in parts:
        width = len("none") + 2 + sum(max(len(entry.text), 2) + 2 for entry in part.rows[0][1])
        assert width <= limit or part.width == 1
