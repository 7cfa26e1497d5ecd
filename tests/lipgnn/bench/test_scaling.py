import pytest

from lipgnn.bench import scaling
from lipgnn.bench.compare import Effort
from lipgnn.bench.graphs import GraphChoice
from lipgnn.bench.inputs import Shape
from lipgnn.bench.rows import Row
from lipgnn.bench.scaling import bench_scaling, grid
from lipgnn.errors import UsageError

CHOICE, SHAPE = GraphChoice(nodes=60, edges=200), Shape("gat", 2, 4)


def measure(against, **changes):
    options = {"points": 3, "whats": ["dgl"], "norm": "lip", "effort": Effort(1, 1), "tell": lambda text: None}
    return bench_scaling(CHOICE, SHAPE, against=against, **{**options, **changes})


@pytest.mark.parametrize(
    "against, sizes, fields",
    [
        ("edges", [200, 400, 800], ["edges"]),
        ("size", [200, 400, 800], ["edges", "nodes"]),
        ("width", [8, 16, 32], ["width"]),
        ("heads", [2, 4, 8], ["heads"]),
        ("depth", [5, 10, 20], ["layers"]),
    ],
)
def test_a_grid_doubles_what_it_says_and_keeps_the_others(against, sizes, fields):
    points = list(grid(Row(bench="scaling", against=against, norm="lip"), CHOICE, SHAPE, 3))
    assert [point.size for point in points] == sizes
    assert [getattr(point.row, fields[0]) for point in points] == sizes
    fixed = {"nodes": 60, "edges": 200, "heads": 2, "width": 4, "layers": 1}
    if against == "size":
        assert [point.row.nodes for point in points] == [60, 120, 240]
    for name in fixed.keys() - set(fields):
        assert {getattr(point.row, name) for point in points} == {fixed[name]}


def test_costs_that_grow_with_the_edges_have_the_exponent_one(monkeypatch):
    """With a clock that goes by the edges, the fit is exact: times, sizes and kernels are not mixed up."""

    def clock(steps, repeats, tell):
        power = {"dgl": 1.0, "fused": 2.0}
        labels = (label.split(", edges ") for label in steps)
        return {f"{kernel}, edges {size}": [0.5 * int(size) ** power[kernel]] for kernel, size in labels}

    monkeypatch.setattr(scaling, "interleave", clock)
    monkeypatch.setattr(scaling, "obstacle", lambda *case, **size: None)
    monkeypatch.setattr(scaling, "build", lambda *case: None)
    report = measure("edges", whats=["fused", "dgl"])
    fits = {row.what: row for row in report.rows if row.exponent is not None}
    assert fits["fit dgl"].exponent == pytest.approx(1.0) and fits["fit fused"].exponent == pytest.approx(2.0)
    assert fits["fit dgl"].stderr == pytest.approx(0, abs=1e-6) and fits["fit dgl"].ms is None
    points = [(row.what, row.edges, row.ms) for row in report.rows if row.exponent is None and row.what == "dgl"]
    assert points == [("dgl", 200, 100.0), ("dgl", 400, 200.0), ("dgl", 800, 400.0)]


@pytest.mark.parametrize("against, measures", [("width", "forward+backward"), ("depth", "epoch")])
def test_points_are_really_measured(against, measures):
    report = measure(against, points=2)
    assert [row.what for row in report.rows] == ["dgl", "dgl", "fit dgl"]
    assert {(row.against, row.norm, row.measures) for row in report.rows} == {(against, "lip", measures)}
    assert all(row.ms > 0 for row in report.rows[:2])
    assert report.rows[2].stderr is None, "two points leave none"


def test_without_a_kernel_there_is_nothing_to_measure(monkeypatch):
    monkeypatch.setattr(scaling, "obstacle", lambda *case, **size: "it is not built")
    with pytest.raises(UsageError, match="fused is left out: it is not built"):
        measure("edges", whats=["fused"])
