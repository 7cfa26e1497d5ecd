"""What a sweep shows: a bar, a line a worker and the best so far; plain lines off a terminal; a panel at its end."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
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

_GOOD = ("done", "elsewhere")


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
    """

    def __init__(self, plan: Plan, jobs: int, *, quiet: bool):
        names = differing(plan.runs)
        self.labels = {
            planned.run_id: " ".join(f"{name}={getattr(planned.spec, name)}" for name in names) for planned in plan.runs
        }
        self.quiet = quiet
        self.total = len(plan.to_run)
        self.ended = 0
        self.best: tuple[float, str] | None = None
        self.live = LiveLines(self.total, jobs, shown=not quiet)

    def __enter__(self) -> SweepView:
        return self

    def __exit__(self, *exception: object) -> None:
        self.live.stop()

    def show(self, event: Event) -> None:
        """Take in one event."""
        label = self.labels[event.planned.run_id]
        if isinstance(event, Progress):
            if event.note and not self.quiet:
                console.note(event.note)
            accuracy = "" if event.val_score is None else f"  val {event.val_score:.3f}"
            self.live.worker(event.worker, f"{label}  epoch {event.epoch}/{event.planned.spec.epochs}{accuracy}")
            return
        self._count(event, label)
        self.live.worker(event.worker, "")
        best = "" if self.best is None else f"best val {self.best[0]:.3f}: {self.best[1]}"
        self.live.overall(self.ended, best)

    def _count(self, event: Ended, label: str) -> None:
        if event.status == "interrupted":
            return
        self.ended += 1
        result = event.result
        if result and result["val_score"] is not None and (self.best is None or result["val_score"] > self.best[0]):
            self.best = (result["val_score"], label)
        progress = f"[{self.ended}/{self.total}]"
        if event.status in _GOOD:
            if not self.quiet and not self.live.on_terminal:
                scores = f"val {result['val_score']:.3f}  test {result['test_score']:.3f}"
                console.note(f"{progress} {event.status}  {label}  {scores}  {result['seconds']:.1f} s")
        else:
            console.note(f"{progress} {event.status}  {label}: {event.reason}")


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
    again = shlex.join(["lipgnn", *(word for word in sys.argv[1:] if word != "--force")])
    if summary.interrupted:
        console.print_next(again)
    elif summary.failed:
        console.print_next(f"{again} --retry failed")
    else:
        own = choice.words() if rows else ["--sweep", LAST]
        console.print_next(shlex.join(["lipgnn", "report", *own, *results_words(results)]))
