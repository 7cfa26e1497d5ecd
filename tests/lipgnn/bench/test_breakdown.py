"""A breakdown names our operations in words and accounts for all of the time."""

from __future__ import annotations

import pytest

from lipgnn.bench import breakdown
from lipgnn.bench.breakdown import REST, breakdown_of
from lipgnn.bench.graphs import GraphChoice
from lipgnn.bench.inputs import CPU
from lipgnn.bench.train import TrainComparison, spec_for
from lipgnn.errors import UsageError
from lipgnn.kernels import fused

CHOICE = GraphChoice("planted")


def measure(model, whats):
    spec = spec_for(CHOICE, model=model, layers=2)
    comparison = TrainComparison(CHOICE, CHOICE.training_data(spec), spec, ("lip",))
    told = []
    measured = breakdown_of(comparison, whats, 1, told.append).measurements
    assert told[-1] == f"{whats[-1]} lip, breakdown"
    return measured


@pytest.mark.skipif(fused.obstacle(CPU) is not None, reason=f"fused kernel: {fused.obstacle(CPU)}")
@pytest.mark.parametrize("model", ["gat", "gatv2", "gt"])
def test_all_operations_are_all_there_is(model, monkeypatch):
    monkeypatch.setattr(breakdown, "LARGEST", 1000)
    everything = measure(model, ["fused"])
    names = {each.what for each in everything}
    assert {"fused: attention, forward", "fused: attention, backward", "fused: mm"} <= names
    assert everything[-1].what == f"fused: {REST}" and everything[-1].ms == pytest.approx(0, abs=1e-9)
    assert sum(each.ratio for each in everything) == pytest.approx(1)


def test_the_largest_come_first_and_the_rest_last(monkeypatch):
    monkeypatch.setattr(breakdown, "LARGEST", 5)
    measured = measure("gat", ["dgl"])
    assert len(measured) == 6 and measured[-1].what == f"dgl: {REST}"
    assert [each.ms for each in measured[:5]] == sorted((each.ms for each in measured[:5]), reverse=True)
    total = sum(each.ms for each in measured)
    assert all(each.ratio == pytest.approx(each.ms / total) and each.ms >= 0 for each in measured)
    assert {(each.bench, each.norm, each.layers) for each in measured} == {("breakdown", "lip", 2)}


def test_only_kernels_can_be_broken_down():
    with pytest.raises(UsageError, match="Nothing is left to measure"):
        measure("gat", ["gemm"])
