import dataclasses
import json

import pytest

from lipgnn.bench import attention
from lipgnn.bench.attention import bench_attention, choose_candidates, main
from lipgnn.bench.compare import Candidate, Effort
from lipgnn.bench.graphs import GraphChoice
from lipgnn.bench.inputs import Shape
from lipgnn.bench.rows import ATTENTION
from lipgnn.errors import UsageError

CHOICE = GraphChoice(nodes=60, edges=300)
SHAPE = Shape("gat", 2, 4)


@pytest.fixture
def no_obstacle(monkeypatch):
    monkeypatch.setattr(attention, "obstacle", lambda what, shape, edges: None)


def test_candidates_have_every_norm_they_have_a_place_for(no_obstacle):
    candidates, left_out = choose_candidates(ATTENTION, ["none", "lip"], SHAPE, 300)
    assert left_out == []
    assert [c for c in candidates if c.what in ("gather", "gemm")] == [("gather", None), ("gemm", None)]
    assert [c for c in candidates if c.what in ("dgl.nn", "pyg")] == [("dgl.nn", "none"), ("pyg", "none")]
    assert [c.norm for c in candidates if c.what == "layer fused"] == ["none", "lip"]


def test_what_cannot_be_measured_is_told_in_a_line(monkeypatch):
    monkeypatch.setattr(attention, "obstacle", lambda what, *rest: "it is too large" if what == "pyg" else None)
    candidates, left_out = choose_candidates(["pyg", "gemm"], ["lip"], SHAPE, 300)
    assert (candidates, left_out) == ([Candidate("gemm")], ["pyg is left out at 2×4: it is too large."])
    with pytest.raises(UsageError, match="Nothing is left to measure: pyg is left out"):
        choose_candidates(["pyg"], ["lip"], SHAPE, 300)


def test_every_candidate_has_a_row_and_the_pairs_their_ratios():
    whats = ["dgl", "gather", "layer dgl", "gemm"]
    told = []
    report = bench_attention(
        CHOICE,
        CHOICE.topology(),
        SHAPE,
        whats=whats,
        norms=["none", "lip"],
        effort=Effort(repeats=2, threads=1, peak=False),
        tell=told.append,
    )
    rows = {(row.what, row.norm): row for row in report.rows}
    assert len(rows) == len(report.rows) == 6 + 6
    for what in (("dgl", "none"), ("dgl", "lip"), ("gather", None), ("layer dgl", "lip"), ("gemm", None)):
        assert 0 < rows[what].low <= rows[what].ms <= rows[what].high and rows[what].peak_mb is None
    for what in (("dgl / gather", "lip"), ("layer dgl / gemm", "none"), ("dgl lip / dgl none", None)):
        assert 0 < rows[what].low <= rows[what].ratio <= rows[what].high and rows[what].ms is None
    described = {(r.graph, r.nodes, r.edges, r.heads, r.width, r.layers, r.measures) for r in report.rows}
    assert described == {("power-law", 60, 300, 2, 4, 1, "forward+backward")}
    assert len(told) == 6 * 3


def test_memory_is_asked_for_a_candidate_at_a_time(monkeypatch):
    jobs = []
    monkeypatch.setattr(attention, "peak_in_child", lambda module, job, threads: jobs.append((module, job)) or 7.5)
    report = bench_attention(
        CHOICE,
        CHOICE.topology(),
        SHAPE,
        whats=["dgl", "gather"],
        norms=["lip"],
        effort=Effort(repeats=0, threads=1),
        tell=lambda text: None,
    )
    assert [(row.what, row.ms, row.peak_mb) for row in report.rows] == [("dgl", None, 7.5), ("gather", None, 7.5)]
    assert {module for module, _ in jobs} == {"lipgnn.bench.attention"}
    assert [job["candidate"] for _, job in jobs] == [("dgl", "lip"), ("gather", None)]
    assert json.loads(json.dumps(jobs[0][1]))["graph"] == dataclasses.asdict(CHOICE)


def test_the_child_measures_what_its_job_says(capsys):
    """One array of all features is 39 MB; the DGL path holds several of them, and at a width of one not even one."""
    peaks = []
    for width in (1, 64):
        job = {
            "graph": dataclasses.asdict(GraphChoice(nodes=20_000, edges=80_000)),
            "shape": dataclasses.asdict(Shape("gat", 8, width)),
            "candidate": ("dgl", "none"),
            "threads": 1,
        }
        main(json.dumps(job))
        peaks.append(json.loads(capsys.readouterr().out))
    assert peaks[0] < 39 < 2 * 39 < peaks[1]
