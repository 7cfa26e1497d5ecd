import pytest

from lipgnn.bench.compare import Candidate, interleave, pairs_of, ratio_rows, rows_of, timed
from lipgnn.bench.rows import Row

TEMPLATE = Row(bench="attention", heads=8)


def test_candidates_take_turns_to_and_fro_after_a_round_that_does_not_count():
    log, told = [], []
    times = interleave({name: lambda name=name: log.append(name) for name in "ab"}, 2, told.append)
    assert "".join(log) == "abbaab"
    assert {name: len(values) for name, values in times.items()} == {"a": 2, "b": 2}
    assert all(value > 0 for values in times.values() for value in values)
    assert told[0] == "a, warming up" and told[-1] == "b, round 2 of 2"


def test_times_are_milliseconds_of_the_step_alone(monkeypatch):
    clock = iter([1.0, 1.25, 3.0, 3.5])
    monkeypatch.setattr("lipgnn.bench.compare.time.perf_counter", lambda: next(clock))
    assert interleave({"a": lambda: None}, 1, lambda text: None) == {"a": [500.0]}


def test_no_repeats_start_nothing():
    assert interleave({"a": lambda: pytest.fail("was started")}, 0, lambda text: None) == {"a": []}


def test_a_row_has_the_median_and_the_extremes_and_the_peak_of_its_candidate():
    fused, gather = Candidate("fused", "lip"), Candidate("gather")
    rows = rows_of({fused: [3.0, 1.0, 8.0], gather: []}, {fused: 12.5}, TEMPLATE)
    assert [(r.what, r.norm, r.ms, r.low, r.high, r.peak_mb, r.heads) for r in rows] == [
        ("fused", "lip", 3.0, 1.0, 8.0, 12.5, 8),
        ("gather", None, None, None, None, None, 8),
    ]
    assert timed(TEMPLATE, [2.0]).ms == 2.0


def test_ratios_are_taken_round_by_round():
    """A disturbance that hits both candidates of a round leaves no trace in the ratio."""
    times = {Candidate("dgl", "lip"): [4.0, 40.0, 4.0], Candidate("fused", "lip"): [1.0, 10.0, 1.0]}
    (row,) = ratio_rows(times, [tuple(times)], TEMPLATE)
    assert (row.what, row.norm, row.ratio, row.low, row.high, row.ms) == ("dgl / fused", "lip", 4.0, 4.0, 4.0, None)


def test_only_pairs_of_which_both_were_timed_have_a_ratio():
    times = {Candidate("dgl", "lip"): [4.0], Candidate("fused", "lip"): []}
    assert ratio_rows(times, [tuple(times), (Candidate("dgl", "lip"), Candidate("pyg"))], TEMPLATE) == []


def test_pairs_share_a_norm_or_one_has_none_or_the_norms_are_what_is_compared():
    timed_ones = {Candidate(what, norm): [1.0] for what in ("dgl", "fused") for norm in ("none", "lip")}
    timed_ones[Candidate("gather")] = [2.0]
    pairs = pairs_of([("dgl", "fused"), ("fused", "gather")], ["none", "lip"], across=["fused"])
    assert [(row.what, row.norm) for row in ratio_rows(timed_ones, pairs, TEMPLATE)] == [
        ("dgl / fused", "none"),
        ("dgl / fused", "lip"),
        ("fused / gather", "none"),
        ("fused / gather", "lip"),
        ("fused lip / fused none", None),
    ]
