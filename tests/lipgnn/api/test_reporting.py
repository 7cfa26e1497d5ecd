import csv
import io

import pytest
from matplotlib.figure import Figure

import lipgnn
from lipgnn.errors import UsageError


@pytest.fixture
def rows(result_row, write_store, tmp_path):
    """A store of two norms, two depths and two seeds."""
    made = [
        result_row(norm=norm, layers=layers, seed=seed, test_score=0.5 + 0.01 * seed + 0.1 * (norm == "lip"))
        for norm in ("none", "lip")
        for layers in (2, 8)
        for seed in (0, 1)
    ]
    write_store(tmp_path / "results", made)
    return made


def test_a_table_in_every_form(rows, invoke):
    table = lipgnn.report(rows="norm", cols="layers")
    numbers = table.to_pandas()
    assert numbers[["norm", "layers", "n"]].values.tolist() == [
        ["none", 2, 2], ["none", 8, 2], ["lip", 2, 2], ["lip", 8, 2],
    ]  # fmt: skip
    assert numbers["mean"].tolist() == pytest.approx([0.505, 0.505, 0.605, 0.605])
    assert sorted(one for runs in numbers["runs"] for one in runs) == sorted(row["run_id"] for row in rows)
    for form, text in (("markdown", table.to_markdown()), ("csv", table.to_csv()), ("html", table.to_html())):
        assert text == invoke("report", "--rows", "norm", "--cols", "layers", "--format", form)[1]
    assert len(list(csv.reader(io.StringIO(table.to_csv())))) == 5
    latex = table.to_latex()
    assert r"\textbf{60.5 $\pm$ 0.7}" in latex and latex.startswith("% lipgnn.report(rows=('norm',), cols=('layers',))")
    own = table.to_latex(caption="Depth & norm", label="tab:depth", wide="turn")
    assert r"\caption{Depth \& norm}" in own and r"\label{tab:depth}" in own and r"\begin{sidewaystable}" in own
    with pytest.raises(UsageError, match="form of a wide table 'wider'"):
        table.to_latex(wide="wider")
    assert table._repr_html_() == table.to_html() and "accuracy" in table.caption
    assert repr(table) == table.to_markdown() and isinstance(table.notes, list)


@pytest.mark.parametrize("where", [{"norm": "lip", "layers": [2, 8]}, "norm=lip", ["norm=lip", "layers=2,8"]])
def test_conditions_in_every_form(rows, where):
    table = lipgnn.report(where=where, rows=["norm"], cols=("layers",))
    assert table.to_pandas()["norm"].tolist() == ["lip", "lip"]


def test_differences_and_papers_are_columns(rows):
    numbers = lipgnn.report(rows="norm", cols="layers", compare="none").to_pandas()
    assert numbers["difference_mean"].tolist()[2:] == pytest.approx([0.1, 0.1])
    best = lipgnn.report(rows="norm", cols="dataset", best="layers").to_pandas()
    assert set(best["best_layers"]) <= {2, 8}


def test_figures_are_objects_of_matplotlib(rows, tmp_path):
    table = lipgnn.report(rows="norm", cols="layers")
    figure = table.figure()
    assert isinstance(figure, Figure) and figure._repr_png_().startswith(b"\x89PNG")
    figure.savefig(tmp_path / "depth.pdf")
    assert isinstance(table.figure("box"), Figure)
    with pytest.raises(UsageError, match="figure"):
        table.figure("pie")


def test_other_sources_and_nothing_at_all(rows, tmp_path, monkeypatch):
    assert len(lipgnn.report(tmp_path / "results", rows="norm", cols="layers").to_pandas()) == 4
    assert len(lipgnn.report(results=tmp_path / "results", rows="norm", cols="layers").to_pandas()) == 4
    with pytest.raises(UsageError):
        lipgnn.report(results=tmp_path / "nothing")
