import csv
import io

from lipgnn.bench.measurements import COLUMNS, Measurement, Range, machine, to_csv, to_rows

ASKED = ["bench", "graph", "nodes", "edges", "heads", "width", "layers", "norm", "what", "ms", "peak_mb"]


def test_the_columns_begin_with_those_that_were_promised():
    assert list(COLUMNS[: len(ASKED)]) == ASKED
    (row,) = to_rows([Measurement(bench="attention", what="fused")], "lipgnn bench attention")
    assert list(row) == list(COLUMNS)
    assert (row["machine"], row["command"]) == (machine(), "lipgnn bench attention")


def test_csv_says_what_the_rows_say():
    measured = [
        Measurement(bench="train", what="dgl", ms=1.25, layers=30),
        Measurement(bench="train", what="dgl / fused", ratio=4.0),
    ]
    made = to_rows(measured, "lipgnn bench train --width 8,64")
    read = list(csv.DictReader(io.StringIO(to_csv(made))))
    assert read == [{key: "" if value is None else str(value) for key, value in row.items()} for row in made]


def test_text_that_a_spreadsheet_would_calculate_is_escaped():
    text = to_csv(to_rows([Measurement(bench="attention", graph="=1+1")], ""))
    assert ",'=1+1," in text.replace("attention", "", 1)


def test_numbers_have_no_more_digits_than_a_measurement():
    (row,) = to_rows([Measurement(bench="attention", ms=40.049096000075224, nodes=1234567)], "")
    assert (row["ms"], row["nodes"]) == (40.0491, 1234567)


def test_a_range_keeps_what_is_usual_and_the_extremes():
    assert Range.of([3.0, 1.0, 10.0]) == Range(3.0, 1.0, 10.0)
    assert Range.of([2.0]) == Range(2.0, 2.0, 2.0)
