import subprocess
import sys

import pytest

from lipgnn.bench.sweep import bench_sweep


def test_both_ways_are_measured_on_the_same_runs(program):
    timing = bench_sweep(2, [*program, "train"])
    assert 0 < timing.train.low <= timing.train.median <= timing.train.high
    assert 0 < timing.warm.low <= timing.warm.high
    assert timing.first > 0
    assert timing.ratio.low <= timing.train.high / timing.warm.low


def test_a_command_that_fails_is_not_taken_for_a_measurement():
    with pytest.raises(subprocess.CalledProcessError):
        bench_sweep(1, [sys.executable, "-c", "raise SystemExit(1)"])
