import json

import pytest

from lipgnn.bench.spread import Spread
from lipgnn.bench.sweep import SweepTiming


@pytest.fixture
def measured(monkeypatch):
    """A sweep measured in advance, and how it was asked for."""
    asked = []

    def bench(repeats, train_command):
        asked.append((repeats, train_command[-1]))
        return SweepTiming(Spread(6.0, 5.5, 7.25), 5.75, Spread(0.05, 0.04, 0.0625), Spread(120.0, 88.0, 181.0))

    monkeypatch.setattr("lipgnn.bench.sweep.bench_sweep", bench)
    return asked


def test_a_sweep_is_told_with_spread_and_ratio(invoke, measured):
    code, out, _ = invoke("bench", "sweep", "--repeats", 7)
    assert (code, measured) == (0, [(7, "train")])
    assert "5.5–7.25" in out and "0.04–0.0625" in out
    assert "120" in next(line for line in out.splitlines() if "train / warm" in line)


def test_a_sweep_as_json(invoke, measured):
    facts = json.loads(invoke("bench", "sweep", "--json")[1])
    assert facts["repeats"] == 5
    assert facts["warm"] == {"median": 0.05, "low": 0.04, "high": 0.0625}
    assert facts["ratio"]["median"] == 120
