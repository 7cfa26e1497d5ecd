import math

import numpy as np
import pytest

from lipgnn.errors import UsageError
from lipgnn.report.figures import FIGURES
from lipgnn.report.figures.figure import rows_of
from lipgnn.report.figures.panel import Panel, Series
from lipgnn.report.figures.profile import Course
from lipgnn.report.figures.style import COLOURS
from lipgnn.report.table.cells import build_table
from lipgnn.report.table.layout import Layout
from lipgnn.results.recordings import SIMILARITY, archive_recordings, write_recording
from lipgnn.results.rows import read_results
from lipgnn.results.store import to_csv

PROFILE = FIGURES["profile"]
LAYOUT = Layout(rows=("residual",), cols=("dataset",))


def read(source, value):
    results = read_results([source])
    return PROFILE.panels(build_table(results.rows, LAYOUT), results, value)


def test_a_profile_has_start_end_and_range_of_every_layer_as_geometric_means(similar):
    (panel,) = read(similar.root, "feat_mu")
    assert (panel.title, [series.label for series in panel.series]) == ("cora", ["none", "identity"])
    place = 2 ** SIMILARITY.index("feat_mu")
    for series in panel.series:
        assert [(point.x, point.n) for point in series.points] == [(0, 2), (1, 2), (2, 2)]
        for point in series.points:
            # The geometric mean of the seeds' 1 and 100 is 10.
            base = 10 * place * 10**point.x
            numbers = [10**number / base for number in (point.start, point.y, point.low, point.high)]
            assert numbers == pytest.approx([1, 10, 0.1, 1000])


def test_what_is_not_finite_is_left_out_and_the_rest_stays(similar_runs, similar, courses_of):
    arrays = courses_of(similar_runs[0])
    arrays["grad_mu"][3, 0] = np.inf  # the end of the first column
    arrays["grad_mu"][:, 1] = np.nan  # all of the second
    arrays["grad_mu"][0, 2] = 0  # the start of the third
    write_recording(similar.run(similar_runs[0]["run_id"]).recording_path("similarity"), arrays)
    (panel,) = read(similar.root, "grad_mu")
    first, third = panel.series[0].points
    assert (first.x, third.x) == (0, 2)
    assert math.isnan(first.y) and 10**first.start == pytest.approx(10)
    assert math.isnan(third.start) and 10**third.y == pytest.approx(10**4)
    # Of the first run what is finite: 1000 is still its greatest.
    assert 10**first.high == pytest.approx(10**4)
    shown = rows_of(PROFILE, [panel])[0]
    assert (shown["series"], shown["layer"], shown["log10_end"], shown["n"]) == ("none", 0, None, 2)
    assert shown["log10_start"] == pytest.approx(1)


def test_archived_recordings_beside_a_table_draw_the_same(similar_runs, similar, tmp_path):
    (tmp_path / "clone").mkdir()
    (tmp_path / "clone" / "deep.csv").write_bytes(to_csv(similar_runs))
    archive_recordings(similar, [run["run_id"] for run in similar_runs], tmp_path / "clone" / "deep")
    for value in ("grad_mu", "rank1"):
        ours, theirs = (read(source, value) for source in (similar.root, tmp_path / "clone" / "deep.csv"))
        for a, b in zip(rows_of(PROFILE, ours), rows_of(PROFILE, theirs), strict=True):
            assert a == {
                key: pytest.approx(number, abs=0.005) if key[:3] == "log" else number for key, number in b.items()
            }


def test_a_run_that_recorded_nothing_is_named_with_what_to_do(similar_runs, similar):
    similar.run(similar_runs[1]["run_id"]).recording_path("similarity").unlink()
    with pytest.raises(UsageError, match=f"Run {similar_runs[1]['run_id']} has recorded no similarity") as caught:
        read(similar.root, "grad_mu")
    assert "--record similarity --force" in caught.value.hint


def courses():
    """A series whose end is not known in the first layer, and one that is known in a single layer."""
    first = [Course(0, math.nan, None, 2, 0, -3.0, -3.0, 1.0), Course(1, 1.0, None, 2, 0, 0.5, 0.0, 2.0)]
    return [Panel("gat, cora", [Series("relu", first), Series("tanh", [Course(1, 0.0, None, 1, 0, 0.0, 0.0, 0.0)])])]


def test_a_profile_draws_the_start_dashed_the_end_solid_and_the_range_shaded(monkeypatch, texts):
    from matplotlib.axes import Axes

    lines, shades = [], []
    plot, fill = Axes.plot, Axes.fill_between

    def watched(axes, xs, ys, **style):
        lines.append((list(xs), [pytest.approx(y, nan_ok=True) for y in ys], style["linestyle"], style["color"]))
        return plot(axes, xs, ys, **style)

    monkeypatch.setattr(Axes, "plot", watched)
    monkeypatch.setattr(Axes, "fill_between", lambda axes, *of, **o: shades.append(of) or fill(axes, *of, **o))
    shown = texts("profile", courses(), "grad_mu")
    assert lines[:2] == [
        ([0, 1], [1e-3, 10**0.5], "--", COLOURS[0]),
        ([0, 1], [math.nan, 10.0], "-", COLOURS[0]),
    ]
    assert [line[3] for line in lines[2:]] == [COLOURS[1]] * 2
    assert [list(map(list, of)) for of in shades] == [[[0, 1], [1e-3, 1], [10, 100]], [[1], [1], [1]]]
    for text in (
        "gat, cora",
        "layer",
        "spread of gradient over nodes, μ",
        "relu",
        "tanh",
        "start of training",
        "end of training",
        "least to greatest of all epochs",
    ):
        assert text in shown


def test_a_profile_of_a_single_moment_names_no_start_and_no_end_and_counts_layers_in_whole_numbers(texts):
    once = [Course(layer, -1.0, None, 2, 0, -1.0, -1.0, -1.0) for layer in range(4)]
    shown = texts("profile", [Panel("gat", [Series("relu", once)])], "grad_mu")
    assert "relu" in shown
    assert not any("training" in text for text in shown)
    assert {"0", "1", "2", "3"} <= set(shown) and not any(text.endswith(".5") for text in shown)
