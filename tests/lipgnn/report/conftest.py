"""A table worked out by hand."""

import pytest

from lipgnn.report.table.beside import add_published
from lipgnn.report.table.cells import build_table, compare
from lipgnn.report.table.layout import Layout
from lipgnn.report.table.papers import PaperNumber


@pytest.fixture
def table(result_row):
    """Three norms by two data sets.

    cora: none .70 .72 .74, lip .75 .76 .77, pair .50 and two diverged; citeseer: none .60 .62 .64, lip all diverged.
    """
    values = {
        ("cora", "none"): (0.70, 0.72, 0.74),
        ("cora", "lip"): (0.75, 0.76, 0.77),
        ("cora", "pair"): (0.50, None, None),
        ("citeseer", "none"): (0.60, 0.62, 0.64),
        ("citeseer", "lip"): (None, None, None),
    }
    runs = [
        result_row(dataset=dataset, norm=norm, seed=seed, **({"test_score": value} if value else {}))
        | ({} if value else {"status": "diverged", "test_score": None, "val_score": None})
        for (dataset, norm), numbers in values.items()
        for seed, value in enumerate(numbers)
    ]
    return build_table(runs, Layout(rows=("norm",), cols=("dataset",)))


@pytest.fixture
def full_table(table):
    """The same with everything that can stand beside it."""
    entry = PaperNumber("A & B 2021", "table_1", "cora", 0.0, "gat", "lip", "test_score", 0.753, 0.009, 10, "book")
    return add_published(compare(table, "none"), [entry])


@pytest.fixture
def foreign_table(result_row):
    """A table whose names are attacks."""
    names = [
        "=1+1",
        "</td><script>alert(1)</script>",
        r"\input{/etc/passwd}",
        "a|b_c*[x](http://y)",
        "\x1b[31m\nred",
        "[0.5em]",
        "*x",
        "ünï–中",
    ]
    runs = [result_row(dataset=name, seed=seed, test_score=0.5) for name in names for seed in range(2)]
    return build_table(runs, Layout(rows=("dataset",), cols=("norm",)))
