"""Rows 33, 34, 42, 43 and 45 of the fault table: bad tables, attacks, a closed pipe, very many runs."""

import csv
import io
import json
import random
import subprocess
import sys

import pytest

from lipgnn.results.columns import COLUMNS

ATTACKS = ["=cmd|' /C calc'!A0", "@SUM(1)", "<script>alert(1)</script>", r"\input{x}", "\x1b]0;x\x07", "[/x]", "a\nb,c"]


def as_csv(rows):
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def test_damage_anywhere_ends_in_a_sentence_and_a_code(invoke, result_row, tmp_path):
    """300 files, each with one random cell, line or column spoiled."""
    rows = [result_row(norm=norm, seed=seed) for norm in ("none", "lip") for seed in range(3)]
    lines = as_csv(rows).splitlines()
    draw = random.Random(0)
    codes = {0: 0, 2: 0, 4: 0}
    for _ in range(300):
        cells = [line.split(",") for line in lines]
        row, column = draw.randrange(len(cells)), draw.randrange(len(COLUMNS))
        damage = draw.choice(["x", "", "nan", "-1", "1e999", '"', "\x00", "é", "99", None])
        if damage is None:
            del cells[row][column]
        else:
            cells[row][column] = damage
        (tmp_path / "bad.csv").write_text("\n".join(map(",".join, cells)))
        code, out, err = invoke("report", "bad.csv", "--format", "csv")
        codes[code] += 1
        assert "Internal error" not in err
        assert (out == "") == (code != 0)
    # Most damage is seen; a number that could be true, or an empty text that no mean needs, cannot be.
    assert codes[4] > 120
    assert codes[0] + codes[2] + codes[4] == 300


def test_attacks_reach_no_output(invoke, result_row, tmp_path):
    rows = [result_row(dataset=name, command=name, seed=seed) for name in ATTACKS for seed in (0, 1)]
    (tmp_path / "r.csv").write_text(as_csv(rows))
    shown = {
        form: invoke("report", "r.csv", "--rows", "dataset", "--cols", "norm", "--format", form)
        for form in ("text", "markdown", "latex", "csv", "html", "json")
    }
    assert all(code == 0 for code, _, _ in shown.values())
    for form, (_, out, _) in shown.items():
        assert "\x1b" not in out and "\x07" not in out, form
    assert "[/x]" in shown["text"][1]
    assert "<script" not in shown["html"][1] + shown["markdown"][1]
    assert r"\input{" not in shown["latex"][1]
    firsts = [line[0] for line in csv.reader(shown["csv"][1].splitlines())]
    assert all(first[0] not in "=+-@" for first in firsts)
    names = {cell["row"]["dataset"] for cell in json.loads(shown["json"][1])["cells"]}
    assert names == set(ATTACKS)
    invoke("report", "r.csv", "--rows", "dataset", "--cols", "norm", "--html", "page.html")
    assert "<script>alert" not in (tmp_path / "page.html").read_text()


def test_a_reader_that_leaves_early_does_no_harm(program, result_row, tmp_path):
    # More than the 64 KiB that a pipe takes before anybody reads.
    (tmp_path / "r.csv").write_text(as_csv([result_row(lr=0.001 + index / 1e6) for index in range(3000)]))
    command = [*program, "report", "r.csv", "--rows", "lr", "--format", "csv"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.read(10)
        process.stdout.close()
        errors = process.stderr.read()
    assert process.returncode == 0
    assert b"Traceback" not in errors


def test_a_full_disk_leaves_the_old_table(program, result_row, write_store, tmp_path):
    write_store(tmp_path / "results", [result_row(lr=0.001 + index / 1e6) for index in range(200)])
    (tmp_path / "table.csv").write_text("old")
    limited = "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000)); "
    code = limited + "from cli.main import run; sys.exit(run(['report', '--rows', 'lr', '-o', 'table.csv']))"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1
    assert "Could not write 'table.csv'" in done.stderr
    assert (tmp_path / "table.csv").read_text() == "old"
    assert not list(tmp_path.glob(".tmp-*"))


@pytest.fixture(scope="module")
def ten_thousand(result_row, write_store, tmp_path_factory):
    norms = ("none", "lip", "pair", "layer")
    rows = (
        result_row(dataset=dataset, norm=norm, layers=layers, seed=seed, test_score=0.5 + seed / 1000)
        for dataset in ("cora", "citeseer")
        for norm in norms
        for layers in range(1, 26)
        for seed in range(50)
    )
    return write_store(tmp_path_factory.mktemp("many") / "results", rows)


def test_ten_thousand_runs_fit_into_little_memory_without_torch(ten_thousand):
    code = (
        "import sys; from cli.main import run; from lipgnn.memory import peak_memory; "
        "code = run(['report', '--best', 'layers', '--json']); "
        "print(peak_memory() / 2**20, 'torch' in sys.modules, file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ten_thousand.parent, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert [cell["n"] for cell in json.loads(done.stdout)["cells"]] == [50] * 8
    peak, torch = done.stderr.split()
    assert float(peak) < 250
    assert torch == "False"


@pytest.mark.parametrize(
    "words",
    [
        ["report"],
        ["report", "--study", "first"],
        ["sweep", "--dataset", "planted"],
        ["sweep", "--study", "first", "--dry-run"],
        ["evaluate", "ab"],
        ["diagnose", "ab"],
        ["train", "--dataset", "planted"],
    ],
    ids=" ".join,
)
def test_a_folder_of_results_that_no_folder_can_be_is_wrong_use(invoke, words):
    code, out, err = invoke(*words, "--results", "a" * 300)
    assert (code, out) == (2, ""), err
    assert "File name too long" in err
