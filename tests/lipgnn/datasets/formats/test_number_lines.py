"""Lines of numbers, and the line of what is wrong."""

import numpy as np
import pytest

from lipgnn.datasets.formats.number_lines import NumberLines
from lipgnn.errors import DataError


@pytest.fixture
def lines(tmp_path):
    def make(text, *, header=True):
        path = tmp_path / "some.txt"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return NumberLines(path, header=header)

    return make


def test_a_table(lines):
    table = lines("2\t7\n0\t1.5\t-3\n1\t2e1\t4\n")
    assert (table.header, len(table), table.counts.tolist()) == ((2, 7), 2, [3, 3])
    assert table.column(0).tolist() == [0, 1] and table.column(0).dtype == np.int64
    assert table.reals([2, 1]).tolist() == [[-3, 1.5], [4, 20]]
    assert table.texts(1) == ["1.5", "2e1"]


def test_lines_of_different_lengths(lines):
    table = lines("3\t4\n5\n6\t7\t8\n9\t10")
    assert table.counts.tolist() == [1, 3, 2]
    assert table.everything().tolist() == [5, 6, 7, 8, 9, 10]


def test_nothing_is_a_table_too(lines):
    table = lines("0\t3\n")
    assert len(table) == 0 and table.column(0).shape == (0,) and table.reals([1, 2]).shape == (0, 2)
    assert len(lines("", header=False)) == 0


def test_the_line_of_a_fault_counts_the_header(lines):
    assert "some.txt': line 2: why." in lines("1\t1\n5\n").fault(0, "why").message
    assert "some.txt': line 1: why." in lines("5\n", header=False).fault(0, "why").message
    table = lines("3\t1\n5\n6\n7\n")
    table.refuse(np.array([False, False, False]), "never")
    with pytest.raises(DataError, match="line 3: this one"):
        table.refuse(np.array([False, True, True]), "this one")


@pytest.mark.parametrize(
    "text, told",
    [
        ("2\t1\n1\n", "line 1: 2 lines are announced, and 1 follow"),
        ("0\t1\n1\n", "line 1: 0 lines are announced, and 1 follow"),
        ("1\t1\n1\n\n", "line 1: 1 lines are announced, and 2 follow"),
        ("", "line 1: '' is not two whole numbers"),
        ("1\t1\t1\n1\n", "line 1: '1\\\\t1\\\\t1' is not two whole numbers"),
        ("1\t1\n1_0\n", "line 2: '1_0' is not a number"),
        ("1\t1\n 1\n", "line 2: ' 1' is not a number"),
        ("2\t1\n1\ninf\n", "line 3: 'inf' is not a number"),
        (b"2\t1\n1\n\xff\n", "line 3: it is no UTF-8 text"),
    ],
)
def test_what_is_no_table_of_numbers(lines, text, told):
    with pytest.raises(DataError, match=told):
        lines(text)


def test_a_cell_that_does_not_fit_is_named(lines):
    table = lines("2\t1\n1\t2\n1.5\t1e39\n")
    with pytest.raises(DataError, match=r"line 3: '1\.5' is not a whole number"):
        table.column(0)
    with pytest.raises(DataError, match="line 3: 1e39 is too large a number"):
        table.reals([0, 1])
    with pytest.raises(DataError, match="line 2: it has 2 cells in place of 3"):
        table.check_width(3)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(DataError, match=r"gone\.txt': No such file"):
        NumberLines(tmp_path / "gone.txt", header=True)
