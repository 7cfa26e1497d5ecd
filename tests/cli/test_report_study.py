import json

import pytest

from cli.report_study import merge_conditions


@pytest.fixture
def study(result_row, write_store, tmp_path, monkeypatch):
    """A study of two norms and depths with two seeds, small, by two protocols; its file has the rows of the first.

    With the last epoch's accuracy, lip is at 0.80 ± 0.014 in two layers, which validation prefers to four.
    """
    folder = tmp_path / "shipped"
    folder.mkdir()
    (folder / "trial.toml").write_text(
        'title = "A trial"\n[report]\nrows = ["norm"]\ncols = ["dataset", "missing"]\nbest = ["layers"]\n'
        'figure = "box"\n[grid]\nnorm = ["none", "lip"]\nlayers = [2, 4]\nseed = [0, 1]\n'
        "[[small]]\nfixed = {epochs = 9}\n[[paper]]\nfixed = {epochs = 99}\n"
        '[protocol.last]\nfeatures = "raw"\nvalue = "last_test_score"\n[protocol.best]\nfeatures = "row"\n'
    )
    monkeypatch.setattr("lipgnn.spec.study.FOLDER", folder)
    from lipgnn.results.store import to_csv

    rows = [
        result_row(
            norm=norm, layers=layers, seed=seed, epochs=9, features="raw", val_score=1 / layers, epochs_to_90=None
        )
        | {"last_test_score": (0.6 if norm == "none" else 0.79) + seed / 50, "test_score": 0.1}
        for norm in ("none", "lip")
        for layers in (2, 4)
        for seed in (0, 1)
    ]
    (tmp_path / "results" / "studies").mkdir(parents=True)
    (tmp_path / "results" / "studies" / "trial.csv").write_bytes(to_csv(rows))
    return rows


def test_a_study_is_laid_out_as_it_says(invoke, study):
    code, out, err = invoke("report", "--study", "trial", "--published")
    assert code == 0
    assert "Study trial (small, last): A trial" in err
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert any(line.startswith("none 61.0 ± 1.4 (2) 82.3 ± 2.3 (2) – 65.3 ± 2.1 (4)") for line in lines)
    assert any(line.startswith("lip 80.0 ± 1.4 (2) 83.1 ± 0.5 (5) – 75.3 ± 0.9 (11)") for line in lines)
    assert any(line.startswith("pair – 78.8 ± 0.6 (4)") for line in lines), "the rest of the paper's table"


def test_beside_a_study_stand_the_numbers_of_its_papers_alone(invoke, result_row, write_store, tmp_path):
    """Of `deep` those of GCNII, in the row of its residual connection; others have numbers of two layers of GAT too."""
    from lipgnn.spec.grid import runs_of
    from lipgnn.spec.study import read_study

    specs = [run for run in runs_of(read_study("deep").choose().grids(), {})[0] if run.dataset == "cora"]
    runs = [result_row(**spec.to_dict()) for spec in specs if spec.layers in (2, 64)]
    write_store(tmp_path / "results", runs)
    cells = json.loads(invoke("report", "--study", "deep", "--published", "--json")[1])["cells"]
    shown = {(*cell["row"].values(), *cell["col"].values()): cell["published"] for cell in cells if cell["published"]}
    assert {place: number["mean"] for place, number in shown.items()} == {
        ("gcn", "initial", "none", "none", "cora", 64): 0.855,
        ("gcn", "initial", "none", "none", "citeseer", 32): 0.734,
        ("gcn", "initial", "none", "none", "pubmed", 16): 0.803,
    }


def test_figures_of_a_study_are_of_what_it_records(invoke, result_row, write_store, tmp_path):
    import numpy as np

    from lipgnn.results.recordings import SIMILARITY, write_recording
    from lipgnn.results.store import Store
    from lipgnn.spec.grid import runs_of
    from lipgnn.spec.study import read_study

    specs = [run for run in runs_of(read_study("rank").choose().grids(), {})[0] if run.dataset == "complete"][:2]
    runs = [result_row(**spec.to_dict()) for spec in specs]
    store = Store(write_store(tmp_path / "results", runs))
    for run in runs:
        arrays = {name: np.full((2, run["layers"] + 1), 0.5, np.float32) for name in SIMILARITY}
        write_recording(store.run(run["run_id"]).recording_path("similarity"), {"epochs": np.arange(2), **arrays})
    for options, label in (([], b"residual to rank one"), (["--figure", "heat"], b"of gradient")):
        assert invoke("report", "--study", "rank", *options, "-o", "x.svg")[0] == 0
        assert label in (tmp_path / "x.svg").read_bytes()


def test_options_beat_the_study(invoke, study, tmp_path):
    content = json.loads(invoke("report", "--study", "trial", "--value", "test_score", "--json")[1])
    assert {cell["mean"] for cell in content["cells"]} == {0.1}
    out = invoke("report", "--study", "trial", "--best", "", "--cols", "layers", "--where", "norm=lip")[1]
    assert "layers 4" in out
    assert "none" not in out
    assert invoke("report", "--study", "trial", "-o", "figure.svg")[0] == 0
    assert b"<svg" in (tmp_path / "figure.svg").read_bytes()


def test_a_condition_beats_that_of_the_study(invoke, root):
    """The study `defaults` shows the runs with the divided residual; the plain one is in its file as well."""
    plain = ("--where", "residual=identity", "--rows", "residual", "--json")
    out = invoke("report", root / "results" / "studies" / "defaults.csv", "--study", "defaults", *plain)[1]
    assert {cell["row"]["residual"] for cell in json.loads(out)["cells"]} == {"identity"}


def test_runs_of_another_scale_protocol_or_setting_are_not_in_the_table(
    invoke, study, result_row, write_store, tmp_path
):
    others = [{"epochs": 99, "features": "raw"}, {"epochs": 9, "features": "row"}, {"epochs": 9, "lr": 1.0}]
    write_store(tmp_path / "results", [result_row(norm="lip", layers=2, seed=0, test_score=0.9, **o) for o in others])
    runs = {run for c in json.loads(invoke("report", "--study", "trial", "--json")[1])["cells"] for run in c["runs"]}
    assert runs == {row["run_id"] for row in study if row["layers"] == 2}
    for options in (("--scale", "paper"), ("--protocol", "best")):
        cells = json.loads(invoke("report", "--study", "trial", "--value", "test_score", *options, "--json")[1])[
            "cells"
        ]
        assert [(cell["n"], cell["mean"]) for cell in cells] == [(1, 0.9)]


@pytest.mark.parametrize(
    "arguments, part",
    [
        (("--study", "tril"), "Did you mean 'trial'"),
        (("--study", "trial", "--scale", "paper"), "lipgnn sweep --study trial --scale paper --protocol last"),
        (("--study", "trial", "--scale", "larg"), "Unknown scale of study 'trial' 'larg'"),
        (("--study", "trial", "--protocol", "beste"), "Did you mean 'best'"),
        (("--scale", "small"), "choose within a study"),
    ],
)
def test_a_study_that_cannot_be_shown_is_exit_2(invoke, study, arguments, part):
    code, out, err = invoke("report", *arguments)
    assert (code, out) == (2, "")
    assert part in err


def test_conditions_of_the_command_line_replace_those_for_the_same_key():
    assert merge_conditions(("lr=1",), ("lr=2", "norm=lip")) == ("lr=1", "norm=lip")
    assert merge_conditions((), ("lr=2",)) == ("lr=2",)
