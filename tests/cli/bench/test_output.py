import csv
import json
from dataclasses import replace
from pathlib import Path

import click
import pytest

from cli.bench.output import Output, given_command, output_options, setting
from cli.bench.train import train
from lipgnn.bench.rows import COLUMNS, Report, Row
from lipgnn.errors import UsageError

ROWS = [
    Row(bench="train", what="dgl", norm="lip", ms=12345.6, low=1.25, high=2.5, peak_mb=12.5, repeats=3),
    Row(bench="train", what="gemm", ms=2.0, low=2.0, high=2.0, repeats=3),
    Row(bench="train", what="dgl / gemm", norm="lip", ratio=4.5, low=4.0, high=5.0, repeats=3),
    Row(bench="train", what="fit dgl", norm="lip", against="depth", exponent=1.01, stderr=0.02, repeats=3),
]


@pytest.fixture
def show(capsys):
    """Show the rows with options: show("--json") -> (stdout, stderr)."""

    @click.command("show")
    @output_options
    def command(csv, as_json):
        output = Output(csv, as_json)
        output.add(Report(ROWS, ["pyg is left out."]), "A title", {"dgl": "the reference"})
        return output.finish()

    def run(*arguments):
        assert command.main(list(arguments), prog_name="show", standalone_mode=False) == 0
        return capsys.readouterr()

    return run


def test_for_people_it_is_tables_with_the_names_explained(show):
    out, err = show()
    assert "A title" in out and "dgl: the reference" in out and err == "pyg is left out.\n"
    lines = [line.split() for line in out.splitlines()]
    assert ["dgl", "lip", "12346", "1.25–2.5", "12.5"] in lines
    assert ["dgl", "/", "gemm", "lip", "4.5", "4–5"] in lines
    assert ["fit", "dgl", "depth", "1.01", "0.02"] in lines


def test_json_is_a_list_of_rows(show):
    rows = json.loads(show("--json").out)
    assert [row["what"] for row in rows] == [row.what for row in ROWS]
    assert list(rows[0]) == list(COLUMNS) and rows[0]["ms"] == 12345.6 and rows[1]["norm"] is None


def test_csv_and_json_say_the_same(show, tmp_path):
    rows = json.loads(show("--json", "--csv", str(tmp_path / "new" / "rows.csv")).out)
    read = list(csv.DictReader((tmp_path / "new" / "rows.csv").read_text().splitlines()))
    assert read == [{key: "" if value is None else str(value) for key, value in row.items()} for row in rows]


def test_csv_on_stdout_stands_alone(show):
    lines = show("--csv", "-").out.splitlines()
    assert lines[0] == ",".join(COLUMNS) and len(lines) == 1 + len(ROWS)


def test_stdout_is_for_one():
    with pytest.raises(UsageError, match="Only one of --json and --csv -"):
        Output(Path("-"), True)


def test_a_file_that_cannot_be_written_is_told_before_anything_is_measured(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="Cannot write to"):
        Output(tmp_path / "file" / "rows.csv", False)


def test_the_command_is_what_was_given_and_not_where_the_rows_went():
    given = ["--width", "8,64", "--no-peak", "--undirected", "--dataset", "a b", "--json", "--csv", "-", "--debug"]
    context = train.make_context("lipgnn bench train", given)
    assert given_command(context) == "lipgnn bench train --dataset 'a b' --undirected --width 8,64 --no-peak"


def test_a_title_tells_what_the_rows_share():
    row = Row(
        bench="scaling",
        graph="power-law",
        nodes=50,
        edges=200,
        heads=2,
        width=4,
        layers=1,
        measures="forward",
        model="gt",
        repeats=3,
        threads=2,
    )
    assert (
        setting(row) == "forward of gt, 2 heads, width 4, on power-law (50 nodes, 200 edges); medians of 3, 2 thread(s)"
    )
    assert "2 heads, on power-law (50" in setting(row, varied="width")
    assert "on power-law of doubling size" in setting(replace(row, against="size"), varied="edges")
    assert "on power-law (50 nodes, doubling edges)" in setting(replace(row, against="edges"), varied="edges")
