import csv
import io
import json
import os
import pty
import subprocess
import sys

import pytest

from lipgnn.results.store import to_csv


@pytest.fixture
def results(result_row, write_store, tmp_path):
    """The grid of two norms, two depths and two seeds in the default store."""
    runs = [
        result_row(
            norm=norm, layers=layers, seed=seed, test_score=0.8 - layers / 100 + (norm == "lip") / 20 + seed / 100
        )
        for norm in ("none", "lip")
        for layers in (2, 4)
        for seed in (0, 1)
    ]
    return write_store(tmp_path / "results", runs)


def test_a_grid_becomes_a_table_of_four_cells(invoke, results):
    code, out, err = invoke("report", "--rows", "norm", "--cols", "layers")
    assert code == 0
    assert [line.split() for line in out.splitlines() if " ± " in line and "mean" not in line] == [
        ["none", "78.5", "±", "0.7", "76.5", "±", "0.7"],
        ["lip", "83.5", "±", "0.7", "81.5", "±", "0.7"],
    ]
    assert "over seed 0–1; n = 2" in out
    assert "--html report.html" in err


def test_json_is_one_object_on_stdout(invoke, results):
    code, out, err = invoke("report", "--json")
    content = json.loads(out)
    assert (code, err) == (0, "")
    assert [cell["n"] for cell in content["cells"]] == [2, 2, 2, 2]
    assert content["cells"][0]["row"] == {"norm": "none"}
    assert content["cells"][0]["mean"] == pytest.approx(0.785)


def test_best_layers_compare_and_published_in_one_table(invoke, results):
    out = invoke("report", "--best", "layers", "--compare", "none", "--published")[1]
    assert "83.5 ± 0.7 (2)" in out
    assert "+5.0, n = 2" in out
    assert "83.1 ± 0.5 (5)" in out
    assert "Dasoulas, Scaman & Virmaux 2021" in out


@pytest.mark.parametrize(
    "suffix, start", [("md", "| norm"), ("tex", "% lipgnn"), ("csv", "norm,layers"), ("html", "<table")]
)
def test_the_suffix_chooses_the_format(invoke, results, tmp_path, suffix, start):
    code, out, err = invoke("report", "-o", f"table.{suffix}")
    assert (code, out) == (0, "")
    assert (tmp_path / f"table.{suffix}").read_text().startswith(start)
    assert f"Written: table.{suffix}" in err


def test_format_writes_to_stdout_and_beats_the_suffix(invoke, results, tmp_path):
    assert invoke("report", "--format", "markdown")[1].startswith("| norm | layers 2 | layers 4 |\n")
    invoke("report", "--format", "json", "-o", "table.txt")
    assert json.loads((tmp_path / "table.txt").read_text())["value"] == "test_score"


def test_several_sources_and_conditions(invoke, results, tmp_path, result_row, write_store):
    other = write_store(tmp_path / "other", [result_row(norm="pair", layers=2, seed=seed) for seed in (0, 1)])
    out = invoke("report", results, other, "--where", "layers=2", "--sort", "value", "--format", "csv")[1]
    assert [line["norm"] for line in csv.DictReader(out.splitlines())] == ["lip", "none", "pair"]


def test_other_values_are_shown_plain(invoke, results):
    out = invoke("report", "--value", "seconds")[1]
    assert "4.000 ± 0.000" in out


@pytest.mark.parametrize("kind", ["depth", "box"])
def test_a_figure_with_its_numbers(invoke, results, tmp_path, kind):
    code, out, _ = invoke("report", "--figure", kind, "-o", "figure.svg", "--figure-data")
    assert (code, out) == (0, "")
    assert b"<svg" in (tmp_path / "figure.svg").read_bytes()
    points = list(csv.DictReader((tmp_path / "figure.csv").read_text().splitlines()))
    assert len(points) == {"depth": 4, "box": 8}[kind]


def test_the_page_is_written_beside_the_table(invoke, results, tmp_path):
    code, out, _ = invoke("report", "--html", "report.html")
    assert code == 0
    assert "83.5 ± 0.7" in out
    assert "83.5 &#177; 0.7" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize(
    "arguments, part",
    [
        (["--rows", "nrom"], "Did you mean 'norm'?"),
        (["--value", "accuracy"], "Unknown value 'accuracy'"),
        (["--where", "lr=1"], "Unknown value of lr '1'"),
        (["--compare", "pair"], "Unknown value of norm 'pair'"),
        (["--sort", "nrom"], "Unknown field to sort by"),
        (["--cols", "dataset"], "--where layers=2"),
        (["-o", "table.doc"], "'.doc' is none of .md"),
        (["-o", "table.png"], "or a --figure"),
        (["--figure", "depth"], "--figure needs -o FILE"),
        (["--figure", "dept", "-o", "x.png"], "Did you mean 'depth'?"),
        (["--over", "seed,metric"], "have no mean"),
        (["--figure", "curve", "-o", "x.png"], "has no log here"),
        (["--format", "text", "-o", "x"], "Text is for the terminal"),
        (["--json", "--format", "latex"], "contradict"),
        (["--figure", "depth", "-o", "x.png", "--format", "csv"], "--format csv is of tables, and into 'x.png'"),
        (["--figure", "depth", "-o", "x.png", "--json"], "--json is of tables, and into 'x.png'"),
        (["--figure-data"], "needs a figure"),
        (["--label", "tab:x"], "--label is of LaTeX tables"),
        (["--wide", "turn", "-o", "x.md"], "--wide is of LaTeX tables"),
        (["--label", "a b", "-o", "x.tex"], "is no label of LaTeX"),
        (["--caption", "mine", "--format", "csv"], "has no caption"),
        (["absent"], "Cannot read results from 'absent'"),
    ],
)
def test_wrong_use_says_what_to_do(invoke, results, arguments, part):
    code, out, err = invoke("report", *arguments)
    assert (code, out) == (2, "")
    assert part in err


def test_a_narrow_terminal_gets_blocks_of_columns_and_no_broken_number(invoke, results, monkeypatch):
    from cli import console

    terminal = console.Console(file=io.StringIO(), force_terminal=True, width=30, color_system=None)
    monkeypatch.setattr(console, "out", lambda: terminal)
    assert invoke("report", "--rows", "norm", "--cols", "dataset,layers")[0] == 0
    shown = terminal.file.getvalue()
    assert shown.count("norm") > 1 and shown.count("n = ") == 1
    assert all(len(line) <= 30 for line in shown.splitlines() if "─" in line)


def test_a_study_is_shown_with_its_heading_and_its_figure(invoke, root, tmp_path):
    source = root / "results" / "studies" / "defaults.csv"
    code, out, err = invoke("report", source, "--study", "defaults", "--format", "markdown")
    assert code == 0 and out.startswith("| ")
    assert err.startswith("Study defaults")
    code, out, err = invoke("report", source, "--study", "defaults", "-o", "figure.svg")
    assert (code, out) == (2, "") and "no figure of its own" in err
    for options in (["--study", "tril"], ["--scale", "small"]):
        assert invoke("report", *options)[:2] == (2, "")


def test_a_picture_of_a_study_is_its_figure(invoke, root, tmp_path):
    source = root / "results" / "studies" / "depth.csv"
    assert invoke("report", source, "--study", "depth", "-o", "depth.svg", "--figure-data")[0] == 0
    assert b"test accuracy (%)" in (tmp_path / "depth.svg").read_bytes()
    assert (tmp_path / "depth.csv").read_text().startswith("panel,series,layers,y,std,diverged,n\n")


def test_an_empty_store_says_how_to_begin(invoke):
    code, _, err = invoke("report")
    assert code == 2
    assert "lipgnn train" in err


def test_failed_runs_are_mentioned(invoke, results):
    (results / "runs" / ("0" * 12)).mkdir()
    (results / "runs" / ("0" * 12) / "failure.json").write_text("{}")
    assert "Failed runs, not in the table: 1." in invoke("report")[2]


def test_neither_torch_nor_a_drawing_library_is_loaded_for_a_table(results):
    code = (
        "import sys; from cli.main import run; code = run(['report', '--best', 'layers']); "
        "sys.exit(code or ' '.join({'torch', 'dgl', 'pandas', 'scipy', 'matplotlib', 'numpy'} & set(sys.modules)) or 0)"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], cwd=results.parent, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout.count("±")) == (0, 3), done.stderr


def test_a_terminal_shows_the_marks(results, program):
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100"}
    done = subprocess.Popen(
        [*program, "report"], cwd=results.parent, stdout=theirs, stderr=subprocess.DEVNULL, env=environment
    )
    os.close(theirs)
    shown = b""
    try:
        while block := os.read(ours, 4096):
            shown += block
    except OSError:
        pass
    assert done.wait() == 0
    assert b"\x1b[1m83.5 \xc2\xb1 0.7\x1b[0m" in shown
    assert b"\x1b[4m78.5" in shown


def test_recorded_gradients_are_drawn_with_their_numbers(invoke, results, tmp_path):
    """From the store, and from a copy of its table with the archived recordings beside it."""
    import numpy as np

    from lipgnn.results.recordings import GRADIENTS, archive_recordings, write_recording
    from lipgnn.results.store import Store, to_csv

    store = Store(results)
    rows = list(store.finished())
    for row in rows:
        arrays = {name: np.full((20, row["layers"]), 10.0 ** row["seed"], np.float32) for name in GRADIENTS}
        write_recording(store.run(row["run_id"]).recording_path("gradients"), {"epochs": np.arange(1, 21), **arrays})
    code, _, err = invoke("report", "--figure", "heat", "-o", "heat.svg", "--figure-data", "--html", "page.html")
    assert code == 0, err
    assert b"log10 norm of weight gradient" in (tmp_path / "heat.svg").read_bytes()
    points = list(csv.DictReader((tmp_path / "heat.csv").read_text().splitlines()))
    assert len(points) == 2 * (2 + 4) * 20
    assert {(point["log10"], point["n"]) for point in points} == {("0.5", "2")}
    (tmp_path / "clone.csv").write_bytes(to_csv(rows))
    archive_recordings(store, [row["run_id"] for row in rows], tmp_path / "clone")
    code, _, err = invoke("report", "clone.csv", "--figure", "largest", "--value", "input_norm", "-o", "largest.png")
    assert code == 0, err
    assert (tmp_path / "largest.png").read_bytes().startswith(b"\x89PNG")


def test_recorded_similarity_is_drawn_with_its_numbers(invoke, results, tmp_path):
    import numpy as np

    from lipgnn.results.recordings import SIMILARITY, write_recording
    from lipgnn.results.store import Store

    store = Store(results)
    for row in store.finished():
        arrays = {name: np.full((3, row["layers"] + 1), 10.0 ** row["seed"], np.float32) for name in SIMILARITY}
        write_recording(store.run(row["run_id"]).recording_path("similarity"), {"epochs": np.arange(3), **arrays})
    for options, label, count in (
        (["profile"], b"of gradient", 2 * (3 + 5)),
        (["profile", "--value", "rank1"], b"residual to rank one", 2 * (3 + 5)),
        (["heat", "--value", "feat_mu"], b"of features", 2 * (3 + 5) * 3),
        (["scatter"], b"spread of output", 8 * 3),
    ):
        code, _, err = invoke("report", "--figure", *options, "-o", "s.svg", "--figure-data")
        assert code == 0, err
        assert label in (tmp_path / "s.svg").read_bytes()
        assert len(list(csv.DictReader((tmp_path / "s.csv").read_text().splitlines()))) == count
    code, out, _ = invoke("report", "--value", "log10_growth", "--json")
    assert code == 0 and {cell["mean"] for cell in json.loads(out)["cells"]} == {0.0}


@pytest.mark.parametrize(
    "arguments, part",
    [
        (["--figure", "heat", "-o", "x.png"], "has recorded no gradients"),
        (["--figure", "profile", "-o", "x.png"], "has recorded no similarity"),
        (["--figure", "scatter", "-o", "x.png"], "has recorded no similarity"),
        (["--figure", "scatter", "--value", "grad_mu", "-o", "x.png"], "Unknown value 'grad_mu'"),
        (["--figure", "heat", "--value", "seconds", "-o", "x.png"], "Unknown recorded value 'seconds'"),
        (["--value", "weight_norm"], "Unknown value 'weight_norm'"),
    ],
)
def test_gradients_that_are_not_there_say_what_to_do(invoke, results, arguments, part):
    code, out, err = invoke("report", *arguments)
    assert (code, out) == (2, "")
    assert part in err


def test_a_backend_for_pictures_that_is_not_installed_does_no_harm(lipgnn, tmp_path, result_row):
    """As in a notebook, whose kernel names its own for all processes that it starts."""
    (tmp_path / "results.csv").write_bytes(to_csv([result_row(layers=2), result_row(layers=4, run_id="b" * 12)]))
    words = ("report", "results.csv", "--rows", "norm", "--cols", "layers", "--figure", "depth", "-o", "depth.png")
    lipgnn(*words, check=0, MPLBACKEND="module://no_such_package.backend")
    assert (tmp_path / "depth.png").stat().st_size > 0
