import json
from dataclasses import fields

import numpy as np
import pytest

from lipgnn.errors import UsageError
from lipgnn.report.figures import FIGURES
from lipgnn.report.request import STUDY_FIGURE, ReportRequest, make_report, merge_conditions
from lipgnn.report.view.printed import as_printed
from lipgnn.results.recordings import RECORDS, SIMILARITY, write_recording
from lipgnn.results.store import Store, to_csv
from lipgnn.spec.study import REPORT, read_study


@pytest.fixture
def report(tmp_path):
    """The report of a request: report(rows=("norm",)) from the results of the test's folder."""
    return lambda **options: make_report(ReportRequest(**{"results": tmp_path / "results", **options}))


@pytest.fixture
def study(result_row, tmp_path, monkeypatch):
    """A study of two norms and depths with two seeds, small, by two protocols; its file has the rows of the first.

    With the last epoch's score, lip is at 0.80 ± 0.014 in two layers, which validation prefers to four.
    """
    folder = tmp_path / "shipped"
    folder.mkdir()
    (folder / "trial.toml").write_text(
        'title = "A trial"\npreset = "sums"\n'
        '[report]\nrows = ["norm"]\ncols = ["dataset", "missing"]\nbest = ["layers"]\n'
        'figure = "box"\n[grid]\nnorm = ["none", "lip"]\nlayers = [2, 4]\nseed = [0, 1]\n'
        "[[small]]\nfixed = {epochs = 9}\n[[paper]]\nfixed = {epochs = 99}\n"
        '[protocol.last]\nfeatures = "raw"\nvalue = "last_test_score"\n[protocol.best]\nfeatures = "row"\n'
    )
    monkeypatch.setattr("lipgnn.spec.study.FOLDER", folder)
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


def cells_of(made):
    return {(*row, *col): cell for (row, col), cell in made.table.cells.items()}


def test_by_default_seeds_are_averaged_and_the_test_score_is_shown(report, result_row, write_store, tmp_path):
    write_store(tmp_path / "results", [result_row(norm=n, seed=s) for n in ("none", "lip") for s in (0, 1)])
    made = report()
    layout = made.table.layout
    assert (layout.rows, layout.cols, layout.over, layout.best) == (("norm",), ("dataset",), ("seed",), ())
    assert (layout.value, made.figure, made.value, made.notes) == ("test_score", None, "test_score", ())
    assert made.printed == as_printed(made.table)
    assert b"50.0 &#177; 0.0" in made.page("lipgnn report")
    unmarked = report(bold="none", underline="none").printed
    assert {entry.mark for _, entries in unmarked.rows for entry in entries} == {None}


def test_a_request_has_every_option_that_a_study_can_give():
    """But for the two that go with the figure and the papers of a study alone."""
    assert REPORT.keys() - {field.name for field in fields(ReportRequest)} == {"figure_value", "papers"}


def test_a_study_is_laid_out_as_it_says(report, study):
    made = report(study="trial", published=True)
    assert made.notes == ("Study trial (small, last): A trial",)
    shown = {labels[0]: [entry.text for entry in entries] for labels, entries in made.printed.rows}
    assert shown["none"][:4] == ["61.0 ± 1.4 (2)", "82.3 ± 2.3 (2)", "–", "65.3 ± 2.1 (4)"]
    assert shown["lip"][:4] == ["80.0 ± 1.4 (2)", "83.1 ± 0.5 (5)", "–", "75.3 ± 0.9 (11)"]
    assert shown["pair"][:2] == ["–", "78.8 ± 0.6 (4)"], "the rest of the paper's table"


def test_beside_a_study_stand_the_numbers_of_its_papers_alone(report, result_row, write_store, tmp_path):
    """Of `deep` those of GCNII, in the row of its residual connection; others have numbers of two layers of GAT too."""
    specs = [run for run in read_study("deep").choose().runs({})[0] if run.dataset == "cora"]
    write_store(tmp_path / "results", [result_row(**spec.to_dict()) for spec in specs if spec.layers in (2, 64)])
    shown = {place: cell.published for place, cell in cells_of(report(study="deep", published=True)).items()}
    assert {place: number.mean for place, number in shown.items() if number} == {
        ("gcn", "initial", "none", "none", "cora", 64): 0.855,
        ("gcn", "initial", "none", "none", "citeseer", 32): 0.734,
        ("gcn", "initial", "none", "none", "pubmed", 16): 0.803,
    }
    restricted = cells_of(report(study="deep", published=True, where=("dataset=cora",)))
    assert {place[-2] for place in restricted} == {"cora"}, "conditions hold for published numbers too"


def test_figures_of_a_study_are_of_what_it_records(report, result_row, write_store, tmp_path):
    specs = [run for run in read_study("rank").choose().runs({})[0] if run.dataset == "complete"][:2]
    runs = [result_row(**spec.to_dict()) for spec in specs]
    store = Store(write_store(tmp_path / "results", runs))
    for run in runs:
        arrays = {name: np.full((2, run["layers"] + 1), 0.5, np.float32) for name in SIMILARITY}
        write_recording(store.run(run["run_id"]).recording_path("similarity"), {"epochs": np.arange(2), **arrays})
    for figure, label in ((STUDY_FIGURE, b"residual to rank one"), ("heat", b"of gradient")):
        made = report(study="rank", figure=figure)
        assert label in made.picture("svg")
        assert made.points()[0]["n"] == len(runs)
    assert report(study="rank", figure="heat", value="feat_mu").value == "feat_mu"


def test_the_value_of_a_recorded_figure_is_not_that_of_its_table(report, recorded, recorded_runs):
    made = report(figure="largest")
    assert (made.table.layout.value, made.value) == ("test_score", RECORDS["gradients"][0])
    assert report(figure="largest", value="input_max").value == "input_max"
    assert report(figure="box", value="seconds").table.layout.value == "seconds"
    with pytest.raises(UsageError, match="Unknown recorded value 'seconds'"):
        report(figure="largest", value="seconds").picture("png")


def test_what_is_asked_for_beats_the_study(report, study):
    assert {cell.mean for cell in cells_of(report(study="trial", value="test_score")).values()} == {0.1}
    other = report(study="trial", best=(), cols=("layers",), where=("norm=lip",))
    assert set(cells_of(other)) == {("lip", 2), ("lip", 4)}
    assert report(study="trial", figure=STUDY_FIGURE).figure == "box"
    assert report(study="trial", figure="depth", best=(), cols=("dataset", "layers")).figure == "depth"


def test_a_condition_beats_that_of_the_study(report, root):
    """The study `defaults` shows the runs with the divided residual; the plain one is in its file as well."""
    source = root / "results" / "studies" / "defaults.csv"
    made = report(sources=(source,), study="defaults", where=("residual=identity",), rows=("residual",))
    assert {row for row, *_ in cells_of(made)} == {"identity"}


def test_runs_of_another_scale_protocol_or_setting_are_not_in_the_table(
    report, study, result_row, write_store, tmp_path
):
    others = [{"epochs": 99, "features": "raw"}, {"epochs": 9, "features": "row"}, {"epochs": 9, "lr": 1.0}]
    write_store(tmp_path / "results", [result_row(norm="lip", layers=2, seed=0, test_score=0.9, **o) for o in others])
    runs = {run["run_id"] for cell in cells_of(report(study="trial")).values() for run in cell.runs}
    assert runs == {row["run_id"] for row in study if row["layers"] == 2}
    for options in ({"scale": "paper"}, {"protocol": "best"}):
        cells = cells_of(report(study="trial", value="test_score", **options)).values()
        assert [(cell.n, cell.mean) for cell in cells] == [(1, 0.9)]


@pytest.mark.parametrize(
    "options, part",
    [
        ({"study": "tril"}, "Did you mean 'trial'"),
        ({"study": "trial", "scale": "paper"}, "lipgnn sweep --study trial --scale paper --protocol last"),
        ({"study": "trial", "scale": "larg"}, "Unknown scale of study 'trial' 'larg'"),
        ({"study": "trial", "protocol": "beste"}, "Did you mean 'best'"),
        ({"scale": "small"}, "choose within a study"),
        ({"study": "trial", "figure": "boxes"}, "Did you mean 'box'"),
    ],
)
def test_what_cannot_be_shown_is_refused(report, study, options, part):
    with pytest.raises(UsageError) as caught:
        report(**options)
    assert part in f"{caught.value.message} {caught.value.hint}"


def test_a_study_without_a_figure_says_which_there_are(report, study, tmp_path):
    plain = tmp_path / "shipped" / "trial.toml"
    plain.write_text(plain.read_text().replace('figure = "box"\n', ""))
    with pytest.raises(UsageError, match="no figure of its own") as caught:
        report(study="trial", figure=STUDY_FIGURE)
    assert all(name in caught.value.hint for name in FIGURES)


def test_growth_is_a_value_like_any_other(report, similar):
    made = report(value="log10_growth", rows=("residual",))
    assert [cell.mean for cell in cells_of(made).values()] == pytest.approx([-2] * 2)


def test_failed_runs_are_noted(report, recorded):
    (recorded.runs_path / ("0" * 12)).mkdir()
    (recorded.runs_path / ("0" * 12) / "failure.json").write_text(json.dumps({}))
    assert report().notes == ("Failed runs, not in the table: 1. A page (--html) lists them.",)


def test_conditions_that_are_given_replace_those_for_the_same_key():
    assert merge_conditions(("lr=1",), ("lr=2", "norm=lip")) == ("lr=1", "norm=lip")
    assert merge_conditions((), ("lr=2",)) == ("lr=2",)
