"""The time left, against what can be worked out by hand."""

import pytest

from lipgnn.spec.run import RunSpec
from lipgnn.sweep.engines.events import Ended, Progress
from lipgnn.sweep.plan import PlannedRun
from lipgnn.sweep.time_left import TimeLeft, duration


def planned(name, estimate, *, layers=1, epochs=10):
    return PlannedRun(RunSpec(layers=layers, epochs=epochs), name, "to do", estimate)


def ended(run, status="done"):
    return Ended(0, run, status)


def test_before_anything_is_done_it_is_the_sum_of_the_estimates_over_the_jobs():
    runs = [planned("a", 10.0), planned("b", 20.0), planned("c", 30.0)]
    assert TimeLeft(runs, 1).seconds(0.0) == pytest.approx(60.0)
    assert TimeLeft(runs, 2).seconds(0.0) == pytest.approx(30.0)
    # A run is not divided, however many jobs there are.
    assert TimeLeft(runs, 8).seconds(0.0) == pytest.approx(30.0)


def test_a_long_run_that_is_left_counts_by_its_length_and_not_as_one_of_two():
    short, long = planned("short", 1.0), planned("long", 99.0)
    left = TimeLeft([short, long], 1)
    left.take(ended(short))
    # By counts, one of two runs took 3 seconds and 3 would be left; what took 3 seconds is one part of a hundred.
    assert left.seconds(3.0) == pytest.approx(99.0)
    for epoch in (0, 5):
        left.take(Progress(0, long, epoch, None))
    # Half of the long run is done now, 50.5 units in 101 seconds.
    assert left.seconds(101.0) == pytest.approx(2 * 49.5)
    assert left.share == pytest.approx(0.505)


def test_the_pace_of_the_sweep_corrects_estimates_that_are_wrong_by_a_factor():
    runs = [planned(str(number), 10.0) for number in range(4)]
    left = TimeLeft(runs, 2)
    for run in runs[:2]:
        left.take(ended(run))
    # Two at once took 70 seconds in place of 10, and so will the other two.
    assert left.seconds(70.0) == pytest.approx(70.0)


def test_what_was_done_before_or_elsewhere_says_nothing_of_the_pace():
    resumed, other, rest = (planned(name, 10.0) for name in ("resumed", "other", "rest"))
    left = TimeLeft([resumed, other, rest], 1)
    left.take(Progress(0, resumed, 5, None))
    left.take(ended(other, "elsewhere"))
    assert left.seconds(1.0) == pytest.approx(15.0)
    left.take(Progress(0, resumed, 10, None))
    # 5 units in 4 seconds, 10 units are left.
    assert left.seconds(4.0) == pytest.approx(8.0)


def test_runs_without_an_estimate_count_by_layers_and_epochs_once_there_is_a_pace():
    shallow, deep = planned("shallow", None, layers=2), planned("deep", None, layers=6, epochs=20)
    left = TimeLeft([shallow, deep], 1)
    assert left.seconds(0.0) is None
    left.take(ended(shallow))
    assert left.seconds(3.0) == pytest.approx(18.0)
    known = TimeLeft([planned("known", 4.0, layers=2), deep], 1)
    assert known.seconds(0.0) is None
    assert known.share == 0.0


def test_nothing_is_left_at_the_end_and_a_stopped_run_is_not_done():
    runs = [planned("a", 1.0), planned("b", 1.0)]
    left = TimeLeft(runs, 1)
    left.take(ended(runs[0], "failed"))
    left.take(ended(runs[1], "interrupted"))
    assert left.share == 0.5
    left.take(ended(runs[1]))
    assert left.seconds(5.0) == 0.0 and left.share == 1.0
    assert TimeLeft([], 1).seconds(0.0) == 0.0


@pytest.mark.parametrize(
    "seconds, told", [(None, "–"), (7, "7 s"), (90, "1.5 min"), (5400, "1.5 h"), (2e5, "55.6 h"), (1e6, "12 days")]
)
def test_times_to_wait_are_in_the_unit_that_suits_them(seconds, told):
    assert duration(seconds) == told
