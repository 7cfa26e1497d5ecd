import pytest

from lipgnn.bench import compare
from lipgnn.bench.compare import Candidate, Comparison, interleave, measurements_of, ratios_of
from lipgnn.bench.measurements import Measurement
from lipgnn.errors import UsageError

TEMPLATE = Measurement(bench="attention", heads=8)


class Toy(Comparison):
    """Two norms; "broken" cannot be measured, "limit" knows no norm, and nobody asks for the memory of "quick"."""

    module, template, norms, pairs = "toy", TEMPLATE, ("none", "lip"), (("dgl", "limit"),)

    def obstacle(self, what):
        return "it is not built" if what == "broken" else None

    def norms_of(self, what):
        return (None,) if what == "limit" else self.norms

    def job(self, candidate):
        return None if candidate.what == "quick" else {"candidate": candidate}

    def steps(self, candidates):
        return {candidate: lambda: None for candidate in candidates}


@pytest.fixture
def threads(monkeypatch):
    """What threads were set to; none of them in this process."""
    found = []
    monkeypatch.setattr(compare, "set_threads", found.append)
    return found


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


def test_a_measurement_has_the_median_and_the_extremes_of_its_candidate():
    (measured,) = measurements_of({Candidate("fused", "lip"): [3.0, 1.0, 8.0]}, TEMPLATE)
    assert (measured.what, measured.norm, measured.heads) == ("fused", "lip", 8)
    assert (measured.ms, measured.low, measured.high) == (3.0, 1.0, 8.0)


def test_ratios_are_taken_round_by_round():
    """A disturbance that hits both candidates of a round leaves no trace in the ratio."""
    times = {Candidate("dgl", "lip"): [4.0, 40.0, 4.0], Candidate("fused", "lip"): [1.0, 10.0, 1.0]}
    (ratio,) = ratios_of(times, [("dgl", "fused")], TEMPLATE)
    assert (ratio.what, ratio.norm, ratio.ms) == ("dgl / fused", "lip", None)
    assert (ratio.ratio, ratio.low, ratio.high) == (4.0, 4.0, 4.0)


def test_pairs_share_a_norm_or_one_has_none_or_the_norms_are_what_is_compared():
    times = {Candidate(what, norm): [1.0] for what in ("dgl", "fused") for norm in ("none", "lip")}
    times[Candidate("gather")] = [2.0]
    ratios = ratios_of(times, [("dgl", "fused"), ("fused", "gather")], TEMPLATE)
    assert {(ratio.what, ratio.norm) for ratio in ratios} == {
        ("dgl / fused", "none"),
        ("dgl / fused", "lip"),
        ("fused / gather", "none"),
        ("fused / gather", "lip"),
        ("dgl lip / dgl none", None),
        ("fused lip / fused none", None),
    }
    assert len(ratios) == 6


def test_every_candidate_has_the_norms_it_has_a_place_for():
    assert Toy().candidates(["dgl", "limit"]) == ([("dgl", "none"), ("dgl", "lip"), ("limit", None)], [])


def test_what_cannot_be_measured_is_told_in_a_line(threads):
    candidates, left_out = Toy().candidates(["broken", "limit"])
    assert (candidates, left_out) == ([Candidate("limit")], ["broken is left out: it is not built."])
    for measure in (lambda: Toy().times(["broken"], 1, 1, print), lambda: Toy().peaks(["broken"], 1, print)):
        with pytest.raises(UsageError, match=r"Nothing is left to measure\. broken is left out: it is not built"):
            measure()


def test_times_come_with_their_ratios_and_the_effort(threads):
    report = Toy().times(["dgl", "limit", "broken"], 3, 2, lambda text: None)
    assert [(each.what, each.norm) for each in report.measurements] == [
        ("dgl", "none"),
        ("dgl", "lip"),
        ("limit", None),
        ("dgl / limit", "none"),
        ("dgl lip / dgl none", None),
        ("dgl / limit", "lip"),
    ]
    assert {(each.heads, each.repeats, each.threads, each.peak_mb) for each in report.measurements} == {(8, 3, 2, None)}
    assert report.left_out == ["broken is left out: it is not built."] and threads == [2]


def test_memory_is_asked_for_a_candidate_at_a_time(monkeypatch):
    jobs = []
    monkeypatch.setattr(compare, "peak_in_child", lambda *asked: jobs.append(asked) or 7.5)
    told = []
    report = Toy().peaks(["limit", "quick", "dgl"], 2, told.append)
    assert [(each.what, each.norm, each.ms, each.peak_mb) for each in report.measurements] == [
        ("limit", None, None, 7.5),
        ("dgl", "none", None, 7.5),
        ("dgl", "lip", None, 7.5),
    ]
    assert jobs[0] == ("toy", {"candidate": ("limit", None)}, 2) and len(jobs) == len(told) == 3
