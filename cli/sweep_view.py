"""What a sweep shows: a bar, the time left, a line a worker, the best so far; plain lines off a terminal; a panel."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from cli import console
from cli.options import results_words
from cli.progress import LiveLines
from lipgnn.results.sweeps import LAST
from lipgnn.spec.run import FIELDS
from lipgnn.spec.study import Choice
from lipgnn.sweep.engines.events import Ended, Event, Progress
from lipgnn.sweep.plan import Plan, PlannedRun
from lipgnn.sweep.run import Summary
from lipgnn.sweep.time_left import TimeLeft, duration
from lipgnn.words import counted

STOPPING = (
    "Stopping: no further run begins, and those under way end after their epoch and are saved. "
    "Ctrl-C once more stops them at once."
)
STOPPED = "Stopped. All finished runs are kept, and the others go on from their last checkpoint."
_GOOD = ("done", "elsewhere")
# The cell of a notebook gets at most so many lines of runs that are done.
_LINES_IN_NOTEBOOK = 20


def differing(runs: Sequence[PlannedRun]) -> list[str]:
    """The options that differ between runs, by which each can be told; all else is common to them."""
    values = [planned.spec.to_dict() for planned in runs]
    names = [name for name in FIELDS if len({str(value[name]) for value in values}) > 1]
    return names if set(names) - {"seed"} else ["dataset", "model", "layers", "norm", "seed"]


class SweepView:
    """Shows the events of a sweep.

    Parameters
    ----------
    plan : what is planned.
    jobs : number of workers.
    quiet : show failures only.
    stopping : whether the sweep has been asked to stop, which is then said.
    """

    def __init__(self, plan: Plan, jobs: int, *, quiet: bool, stopping: Callable[[], bool] = lambda: False):
        names = differing(plan.runs)
        self.labels = {
            planned.run_id: " ".join(f"{name}={getattr(planned.spec, name)}" for name in names) for planned in plan.runs
        }
        self.quiet = quiet
        self.total = len(plan.to_run)
        self.ended = 0
        self.best: tuple[float, str] | None = None
        self.stopping = stopping
        self.stride = max(1, self.total // _LINES_IN_NOTEBOOK) if console.in_notebook() else 1
        self.began, self.time_left = time.monotonic(), TimeLeft(plan.to_run, jobs)
        self.live = LiveLines(self.total, jobs, shown=not quiet, left=self._left, last_words=self._last_words)

    def __enter__(self) -> SweepView:
        return self

    def __exit__(self, *exception: object) -> None:
        self.live.stop()

    def show(self, event: Event) -> None:
        """Take in one event."""
        label = self.labels[event.planned.run_id]
        self.time_left.take(event)
        if isinstance(event, Progress):
            if event.note and not self.quiet:
                console.note(event.note)
            accuracy = "" if event.val_score is None else f"  val {event.val_score:.3f}"
            self.live.worker(event.worker, f"epoch {event.epoch}/{event.planned.spec.own_epochs}{accuracy}  {label}")
            return
        self._count(event, label)
        self.live.worker(event.worker, "")
        self.live.overall(self.ended)

    def _left(self) -> tuple[float, str]:
        seconds = self.time_left.seconds(time.monotonic() - self.began)
        return self.time_left.share, f"{duration(seconds)} left"

    def _last_words(self) -> str:
        if self.stopping():
            return "stopping after this epoch; finished runs are kept"
        return "" if self.best is None else f"best val {self.best[0]:.3f}: {self.best[1]}"

    def _count(self, event: Ended, label: str) -> None:
        if event.status == "interrupted":
            return
        self.ended += 1
        result = event.result
        if result and result["val_score"] is not None and (self.best is None or result["val_score"] > self.best[0]):
            self.best = (result["val_score"], label)
        progress = f"[{self.ended}/{self.total}]"
        if event.status in _GOOD:
            if not self.quiet and not self.live.on_terminal and self.ended % self.stride == 0:
                scores = f"val {result['val_score']:.3f}  test {result['test_score']:.3f}"
                console.note(f"{progress} {event.status}  {label}  {scores}  {result['seconds']:.1f} s")
        else:
            console.note(f"{progress} {event.status}  {label}: {event.reason}")


def without_option(words: Sequence[str], option: str) -> list[str]:
    """The words of a command without an option and its value, which may be one word or two."""
    before = ["", *words]
    return [w for w, last in zip(words, before, strict=False) if option not in (w, last, w.partition("=")[0])]


def show_summary(summary: Summary, results: Path, choice: Choice | None) -> None:
    """The closing panel, and what to type next."""
    facts = [
        ("planned", f"{summary.planned}"),
        ("have a result", f"{summary.done}"),
        ("computed now", f"{summary.ran}" + (f", {summary.diverged} diverged" if summary.diverged else "")),
        ("failed now", f"{summary.failed}"),
        ("seconds", f"{summary.seconds:.1f}"),
        ("results", str(results / "results.csv")),
    ]
    path, rows = summary.archive or (None, 0)
    if rows:
        facts.append(("archived", f"{path}, {rows} rows"))
    console.print_panel("Sweep", facts, good=not summary.failed and not summary.interrupted)
    words = [word for word in sys.argv[1:] if word != "--force"]
    again = shlex.join(["lipgnn", *words])
    if summary.interrupted:
        console.note(STOPPED)
        console.print_next(again)
    elif summary.failed:
        if summary.timed_out:
            late = counted(summary.timed_out, "run")
            console.note(f"{late} took longer than --timeout allows; give more seconds, or none as below.")
            again = shlex.join(["lipgnn", *without_option(words, "--timeout")])
        console.print_next(f"{again} --retry failed")
    else:
        own = choice.words() if rows else ["--sweep", LAST]
        console.print_next(shlex.join(["lipgnn", "report", *own, *results_words(results)]))
