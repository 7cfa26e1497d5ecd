import json

import pytest

from lipgnn.bench.spread import Spread
from lipgnn.bench.store import STEPS, StoreTiming, bench_store, bytes_a_run, grid_of, main, write_store
from lipgnn.results.store import Store
from lipgnn.sweep.plan import make_plan


@pytest.mark.parametrize("runs", [1, 40, 41, 100])
def test_the_grid_is_as_large_as_asked_and_hardly_larger(runs):
    specs, refused = grid_of(runs).runs({})
    assert (runs <= len(specs) < runs + 40, refused) == (True, [])


def test_the_store_has_what_its_grid_plans(tmp_path):
    store = Store(tmp_path)
    write_store(store, 50)
    specs, _ = grid_of(50).runs({})
    states = [planned.state for planned in make_plan(specs, store).runs]
    assert (states.count("done"), states.count("to do")) == (50, len(specs) - 50)


@pytest.mark.parametrize("step", STEPS)
def test_every_step_measures_itself(step, tmp_path, capsys):
    write_store(Store(tmp_path), 40)
    main(step, str(tmp_path), "40")
    measured = json.loads(capsys.readouterr().out)
    assert measured["seconds"] > 0 and measured["memory_mb"] > 10


def test_memory_does_not_run_away_with_the_number_of_runs():
    """Against the smaller store every further run costs some kilobytes in each step: no step holds more than rows."""
    timings = list(bench_store(3000, repeats=1))
    assert [(timing.step, timing.runs) for timing in timings] == [(s, n) for s in STEPS for n in (300, 3000)]
    assert all(timing.seconds.low > 0 for timing in timings)
    for small, large in zip(timings[::2], timings[1::2], strict=True):
        assert bytes_a_run(small, large) < 20_000


def test_memory_that_shrinks_by_noise_is_no_growth():
    small, large = (StoreTiming("plan", n, Spread.of([1.0]), Spread.of([mb])) for n, mb in ((10, 50.1), (100, 50.0)))
    assert bytes_a_run(small, large) == 0
