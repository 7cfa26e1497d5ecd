"""How long a sweep still takes: by the estimates of its runs, corrected by how fast it has been so far. No torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lipgnn.sweep.engines.events import Ended, Event
from lipgnn.sweep.plan import PlannedRun

# From this share of all work on, the pace of the sweep itself is better than what past runs say.
_TELLING = 0.02
# A time to wait is told in days from here on.
_DAYS_FROM = 3 * 86400


@dataclass
class _Work:
    """The work of one run: all of it, the share that was there at the start, and the share that is done now."""

    size: float
    before: float = 0.0
    done: float = 0.0
    begun: bool = False


class TimeLeft:
    """The time left of a sweep.

    A run of estimate e, of whose epochs the share f is done, has e·(1 − f) of work left. Before the sweep has done
    enough to show its own pace, a unit of work is a second, and `jobs` runs share the work. From then on the pace is
    the work that this sweep has done, over the time that it took. The longest run left is a lower bound, since a run
    is not divided.

    Parameters
    ----------
    runs : what is to be computed.
    jobs : how many runs are computed at once.
    """

    def __init__(self, runs: Sequence[PlannedRun], jobs: int):
        known = [(planned.estimate, _steps(planned)) for planned in runs if planned.estimate is not None]
        self._absolute = len(known) == len(runs)
        pace = sum(seconds for seconds, _ in known) / sum(steps for _, steps in known) if known else 1.0
        self._works = {
            planned.run_id: _Work(pace * _steps(planned) if planned.estimate is None else planned.estimate)
            for planned in runs
        }
        self._jobs = max(1, min(jobs, len(runs)))

    @property
    def share(self) -> float:
        """The share of all work that is done, from 0 to 1."""
        total = sum(work.size for work in self._works.values())
        return sum(work.size * work.done for work in self._works.values()) / total if total else 1.0

    def take(self, event: Event) -> None:
        """Take in one event."""
        work = self._works[event.planned.run_id]
        if isinstance(event, Ended):
            if event.status != "interrupted":
                work.done = 1.0
            if event.status == "elsewhere":
                # Whoever computed it, it says nothing of the pace here.
                work.before = 1.0
            return
        work.done = min(1.0, event.epoch / max(1, event.planned.spec.own_epochs))
        if not work.begun:
            work.begun, work.before = True, work.done

    def seconds(self, elapsed: float) -> float | None:
        """The time left after `elapsed` seconds; None while nothing is known of it."""
        works = self._works.values()
        left = [work.size * (1 - work.done) for work in works]
        own = sum(work.size * (work.done - work.before) for work in works)
        if not any(left):
            return 0.0
        if own > _TELLING * (own + sum(left)) and elapsed > 0:
            unit = elapsed / own
        elif self._absolute:
            unit = 1 / self._jobs
        else:
            return None
        return max(sum(left) * unit, max(left) * unit * self._jobs)


def duration(seconds: float | None) -> str:
    """A time to wait, in the unit that suits it; a dash where it is unknown."""
    if seconds is None:
        return "–"
    if seconds >= _DAYS_FROM:
        return f"{seconds / 86400:.0f} days"
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} s"


def _steps(planned: PlannedRun) -> int:
    """What the time of a run is taken to grow with where nothing else is known of it."""
    return max(1, planned.spec.layers) * max(1, planned.spec.own_epochs)
