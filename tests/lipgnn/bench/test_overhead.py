import json
import subprocess
import sys

import pytest

from cli.bench.overhead import PROGRAM
from lipgnn.bench import overhead
from lipgnn.bench.overhead import bench_overhead, commands_on, grid_of, write_store
from lipgnn.results.store import Store
from lipgnn.sweep.engines.local import RUNS_A_WORKER
from lipgnn.sweep.plan import fingerprint_of, make_plan


@pytest.fixture
def result(result_row):
    return result_row(fingerprint=fingerprint_of("planted", "public"), metric="accuracy")


@pytest.mark.parametrize("runs", [1, 20, 21, 100])
def test_the_grid_is_as_large_as_asked_and_hardly_larger(runs):
    specs, refused = grid_of(runs).runs({})
    assert (runs <= len(specs) < runs + 20, refused) == (True, [])


def test_the_store_has_what_its_grid_plans(tmp_path, result):
    store = Store(tmp_path)
    assert write_store(store, grid_of(20), result) == 20
    specs, _ = grid_of(40).runs({})
    states = [planned.state for planned in make_plan(specs, store).runs]
    assert (states.count("done"), states.count("to do")) == (20, 20)


def test_the_plan_that_is_timed_finds_the_runs_done(tmp_path, result, lipgnn):
    grid = grid_of(40)
    runs = write_store(Store(tmp_path / "many"), grid, result)
    words = {key.what: words for key, words in commands_on(tmp_path / "many", grid, runs).items()}
    done = lipgnn(*words["plan of 40 runs"], "--json", check=0)
    plan = json.loads(done.stdout)
    assert (plan["planned"], plan["done"]) == (40, 40)


def test_memory_does_not_run_away_with_the_number_of_runs(monkeypatch):
    """Against the smaller store every further run costs some kilobytes: neither plan nor report hold more than rows."""
    monkeypatch.setattr(overhead, "FURTHER", 2)
    report = bench_overhead(PROGRAM, [100, 600], 1, lambda text: None)
    measured = {each.what: each for each in report.measurements}
    assert all(each.ms > 0 and each.measures == "process" for each in measured.values() if each.peak_mb)
    for command in ("plan", "report"):
        small, large = (measured[f"{command} of {runs} runs"].peak_mb for runs in (100, 600))
        assert small > 10 and large - small < 500 * 20_000 / 2**20


def test_the_runs_of_a_sweep_are_those_of_one_worker():
    assert overhead.FURTHER < RUNS_A_WORKER


def test_a_further_run_is_what_many_cost_more_than_one(monkeypatch, tmp_path):
    costs = {overhead.ONE: [3000.0, 5000.0], overhead.MANY: [8000.0, 20_000.0]}
    monkeypatch.setattr(overhead, "interleave", lambda steps, repeats, tell: dict(costs))
    monkeypatch.setattr(overhead, "_call", lambda program, words: 0.0)
    monkeypatch.setattr(Store, "results", lambda self: [{}])
    *_, further = bench_overhead([], [], 2, lambda text: None).measurements
    assert (further.what, further.low, further.high) == ("a further run", 5000 / 40, 15_000 / 40)


def test_a_command_that_fails_is_not_taken_for_a_measurement():
    with pytest.raises(subprocess.CalledProcessError):
        bench_overhead([sys.executable, "-c", "raise SystemExit(1)"], [1], 1, lambda text: None)
