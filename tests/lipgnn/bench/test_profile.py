"""A profile names our operations in words and accounts for all of the time."""

from __future__ import annotations

import pytest

from lipgnn.bench.profile import REST, bench_profile
from lipgnn.datasets import load
from lipgnn.spec.run import RunSpec


@pytest.mark.parametrize("model", ["gat", "gt"])
def test_the_largest_operations_and_the_rest_are_all_there_is(model):
    spec = RunSpec(dataset="planted", model=model, layers=2, device="cpu")
    told = []
    rows = bench_profile(load("planted"), spec, top=5, threads=1, tell=told.append).rows
    assert len(rows) == 6 and rows[-1].what == REST
    assert all(row.ms >= 0 for row in rows)
    assert [row.ms for row in rows[:5]] == sorted((row.ms for row in rows[:5]), reverse=True)
    everything = bench_profile(load("planted"), spec, top=1000, threads=1, tell=told.append).rows
    names = {row.what for row in everything}
    assert {"attention, forward", "attention, backward", "mm"} <= names
    assert everything[-1].ms == pytest.approx(0, abs=1e-9)
    assert told[-1] == "profiling"
