import csv
import io

from lipgnn.bench.rows import COLUMNS, Row, machine, records, to_csv

ASKED = ["bench", "graph", "nodes", "edges", "heads", "width", "layers", "norm", "what", "ms", "peak_mb"]


def test_the_columns_begin_with_those_that_were_promised():
    assert list(COLUMNS[: len(ASKED)]) == ASKED
    (record,) = records([Row(bench="attention", what="fused")], "lipgnn bench attention")
    assert list(record) == list(COLUMNS)
    assert (record["machine"], record["command"]) == (machine(), "lipgnn bench attention")


def test_csv_says_what_the_records_say():
    rows = [Row(bench="train", what="dgl", ms=1.25, layers=30), Row(bench="train", what="dgl / fused", ratio=4.0)]
    made = records(rows, "lipgnn bench train --width 8,64")
    read = list(csv.DictReader(io.StringIO(to_csv(made))))
    assert read == [{key: "" if value is None else str(value) for key, value in record.items()} for record in made]


def test_text_that_a_spreadsheet_would_calculate_is_escaped():
    text = to_csv(records([Row(bench="attention", graph="=1+1")], ""))
    assert ",'=1+1," in text.replace("attention", "", 1)


def test_numbers_have_no_more_digits_than_a_measurement():
    (record,) = records([Row(bench="attention", ms=40.049096000075224, nodes=1234567)], "")
    assert (record["ms"], record["nodes"]) == (40.0491, 1234567)
