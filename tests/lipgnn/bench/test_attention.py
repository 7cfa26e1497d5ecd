import dataclasses
import json

import pytest

from lipgnn.bench import attention
from lipgnn.bench.attention import AttentionComparison, main
from lipgnn.bench.compare import Candidate
from lipgnn.bench.graphs import GraphChoice
from lipgnn.bench.inputs import Shape
from lipgnn.bench.measurements import ATTENTION, BESIDE_SHARED

CHOICE = GraphChoice(nodes=60, edges=300)
SHAPE = Shape("gat", 2, 4)


def comparison(shape=SHAPE):
    return AttentionComparison(CHOICE, CHOICE.topology(), shape, ("none", "lip"))


def test_candidates_have_every_norm_they_have_a_place_for(monkeypatch):
    monkeypatch.setattr(attention.fused, "obstacle", lambda device: None)
    candidates, left_out = comparison().candidates(ATTENTION)
    assert [line.partition(" is left out")[0] for line in left_out] == list(BESIDE_SHARED)
    assert [c for c in candidates if c.what in ("gather", "gemm")] == [("gather", None), ("gemm", None)]
    assert [c for c in candidates if c.what == "dgl.nn"] == [("dgl.nn", "none")]
    assert [c.norm for c in candidates if c.what == "layer fused"] == ["none", "lip"]


def test_what_cannot_be_measured_says_why(monkeypatch):
    monkeypatch.setattr(attention.fused, "obstacle", lambda device: "it is not built")
    apart = "it is what shared heads are held against, and these share nothing (--head-sharing)"
    assert {what: reason for what in ATTENTION if (reason := comparison().obstacle(what))} == {
        "fused": "it is not built",
        "layer fused": "it is not built",
        **dict.fromkeys(BESIDE_SHARED, apart),
    }
    assert comparison(Shape("gt", 2, 4)).obstacle("dgl.nn") == "DGL has no layer of this kind"


def test_shared_heads_are_held_against_heads_that_share_nothing(monkeypatch):
    monkeypatch.setattr(attention.fused, "obstacle", lambda device: None)
    shared, grouped = (comparison(Shape("gt", 2, 4, kind, 4)) for kind in ("collab", "mqa"))
    assert [shared.obstacle(what) for what in ("fused", "dgl", *BESIDE_SHARED)] == [None] * 4
    whole = "heads that share keys in groups are measured as whole layers"
    assert [grouped.obstacle(what) for what in ("fused", "dgl", *BESIDE_SHARED)] == [whole, whole, whole, None]
    assert shared.template.model == "gt collab:4" and comparison(Shape("gt", 2, 4)).template.model == "gt"
    assert {("plain", "fused"), ("layer plain", "layer fused")} <= set(shared.pairs)


def test_every_candidate_is_measured_and_the_pairs_have_their_ratios():
    told = []
    report = comparison().times(["dgl", "gather", "layer dgl", "gemm"], 2, 1, told.append)
    measured = {(each.what, each.norm): each for each in report.measurements}
    assert len(measured) == len(report.measurements) == 6 + 6
    for what in (("dgl", "none"), ("dgl", "lip"), ("gather", None), ("layer dgl", "lip"), ("gemm", None)):
        assert 0 < measured[what].low <= measured[what].ms <= measured[what].high
    for what in (("dgl / gather", "lip"), ("layer dgl / gemm", "none"), ("dgl lip / dgl none", None)):
        assert 0 < measured[what].low <= measured[what].ratio <= measured[what].high and measured[what].ms is None
    described = {(m.graph, m.nodes, m.edges, m.heads, m.width, m.layers, m.measures) for m in report.measurements}
    assert described == {("power-law", 60, 300, 2, 4, 1, "forward+backward")}
    assert len(told) == 6 * 3


@pytest.mark.parametrize("width, low, high", [(1, 0, 39), (64, 2 * 39, 1000)])
def test_the_child_measures_what_its_job_says(capsys, width, low, high):
    """One array of all features is 39 MB; the DGL path holds several of them, and at a width of one not even one."""
    choice, shape = GraphChoice(nodes=20_000, edges=80_000), Shape("gat", 8, width)
    job = AttentionComparison(choice, choice.topology(), shape, ("none",)).job(Candidate("dgl", "none"))
    assert job["graph"] == dataclasses.asdict(choice)
    main(json.dumps({**job, "threads": 1}))
    assert low < json.loads(capsys.readouterr().out) < high
