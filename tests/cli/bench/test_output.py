import csv
import json
import shlex

import click
import pytest

from cli.bench import command as bench
from cli.bench.output import Output, given_command, output_options, title
from cli.bench.train import train
from lipgnn.bench.measurements import COLUMNS, Measurement, Report
from lipgnn.errors import UsageError

MEASURED = [
    Measurement(bench="train", what="dgl", norm="lip", ms=12345.6, low=1.25, high=2.5, peak_mb=12.5, repeats=3),
    Measurement(bench="train", what="gemm", ms=2.0, low=2.0, high=2.0, repeats=3),
    Measurement(bench="train", what="dgl / gemm", norm="lip", ratio=4.5, low=4.0, high=5.0, repeats=3),
]
GROWING = [Measurement(bench="train", what="fused", norm="lip", ms=3.0 * n, layers=n) for n in (5, 10, 20)]


@pytest.fixture
def show(capsys):
    """Show measurements with options: show("--json") -> (stdout, stderr)."""

    @click.command("show")
    @output_options
    def command(csv, as_json):
        output = Output(csv, as_json)
        output.add(Report(MEASURED, ["fused is left out."]), {"dgl": "the reference"})
        output.add(Report(GROWING, []))
        return output.finish()

    def run(*arguments):
        assert command.main(list(arguments), prog_name="show", standalone_mode=False) == 0
        return capsys.readouterr()

    return run


def test_for_people_it_is_tables_with_the_names_explained(show):
    out, err = show()
    assert "medians of 3" in out and "dgl: the reference" in out and err == "fused is left out.\n"
    lines = [line.split() for line in out.splitlines()]
    assert ["dgl", "lip", "12346", "1.25–2.5", "12.5"] in lines
    assert ["dgl", "/", "gemm", "lip", "4.5", "4–5"] in lines
    assert any(line[:4] == ["fused", "lip", "layers", "1"] for line in lines)


def test_a_breakdown_has_shares(capsys):
    output = Output(None, False)
    output.add(Report([Measurement(bench="breakdown", what="dgl: mm", ms=2.0, ratio=0.255, layers=3)], []))
    assert ["dgl:", "mm", "2", "25.5", "%"] in [line.split() for line in capsys.readouterr().out.splitlines()]


def test_json_is_a_list_of_rows(show):
    rows = json.loads(show("--json").out)
    assert [row["what"] for row in rows] == ["dgl", "gemm", "dgl / gemm", "fused", "fused", "fused", "fused"]
    assert list(rows[0]) == list(COLUMNS) and rows[0]["ms"] == 12345.6 and rows[1]["norm"] is None
    assert (rows[-1]["against"], rows[-1]["exponent"]) == ("layers", 1.0)


def test_csv_and_json_say_the_same(show, tmp_path):
    rows = json.loads(show("--json", "--csv", str(tmp_path / "rows.csv")).out)
    read = list(csv.DictReader((tmp_path / "rows.csv").read_text().splitlines()))
    assert read == [{key: "" if value is None else str(value) for key, value in row.items()} for row in rows]


def test_no_folder_is_made_for_a_file(show, tmp_path):
    """As no other command makes one."""
    with pytest.raises(UsageError, match="There is no folder"):
        show("--csv", str(tmp_path / "new" / "rows.csv"))
    assert not (tmp_path / "new").exists()


def test_a_file_that_cannot_be_written_is_told_before_anything_is_measured(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="Cannot write to"):
        Output(tmp_path / "file" / "rows.csv", False)


def test_the_command_is_what_was_given_and_not_where_the_rows_went():
    given = ["--width", "8,64", "--peak", "--dataset", "a b", "--json", "--csv", "rows.csv", "--debug"]
    context = train.make_context("lipgnn bench train", given)
    assert given_command(context) == "lipgnn bench train --dataset 'a b' --width 8,64 --peak"


def test_rows_that_ship_have_the_present_columns_and_commands(root):
    files = sorted((root / "results" / "bench").glob("*.csv"))
    assert len(files) > 5
    for path in files:
        rows = list(csv.DictReader(path.read_text().splitlines()))
        for command in {row["command"] for row in rows}:
            words = shlex.split(command)
            context = bench.commands[words[2]].make_context("lipgnn bench " + words[2], words[3:])
            assert given_command(context) == command, path.name
        assert {tuple(row) for row in rows} == {COLUMNS}, path.name


def test_a_title_tells_what_the_measurements_share():
    place = {"graph": "power-law", "nodes": 50, "edges": 200, "heads": 2, "width": 4, "model": "gt"}
    layer = Measurement(bench="attention", **place, layers=1, measures="forward+backward", repeats=3, threads=2)
    assert title(layer) == (
        "forward+backward of gt, 2 heads, width 4, on power-law (50 nodes, 200 edges); medians of 3; 2 threads"
    )
    assert "of gt, 30 layers, 2 heads" in title(Measurement(bench="train", **place, layers=30, measures="epoch"))
    assert title(Measurement(bench="overhead", measures="process", repeats=3)) == "process; medians of 3"
