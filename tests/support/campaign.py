"""What the campaign of faults counts, how it judges a store, and its part in pytest."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MEASURED = ("seconds", "seconds_per_epoch", "peak_memory_mb")
# The tables at the end: what tests note their counts as, the columns, and the attacks that are added up.
TABLES = {
    "campaign": (("attack", "tries", "hit", "lost", "doubled", "different"), {"all kills": "kill -9", "all": ""}),
    "fuzz": (("reader", "cases", "refused", "escapes"), {"all": ""}),
}


@dataclass
class Tally:
    """What came of an attack.

    Attributes
    ----------
    tries, hit : how often it was tried, and how often there was something to hit.
    lost, doubled, different : results that were gone, there twice, or not those of an undisturbed run.
    """

    attack: str
    tries: int = 0
    hit: int = 0
    lost: int = 0
    doubled: int = 0
    different: int = 0

    def wants(self, hits: int) -> bool:
        """Whether there were fewer hits so far, and tries enough are left to hope for more."""
        return self.hit < hits and self.tries < 10 * hits

    def clean(self) -> bool:
        return self.lost == self.doubled == self.different == 0

    def compare(self, folder: Path, expected: dict[str, Any]) -> None:
        """Count what is not as in `expected`, the `outcome` of an undisturbed store."""
        found = outcome(folder)
        self.lost += len(expected.keys() - found.keys())
        self.doubled += len(found.keys() - expected.keys())
        self.different += sum(found[run] != expected[run] for run in found.keys() & expected.keys())
        listed = rows_of(folder)
        self.lost += len(expected.keys() - set(listed))
        self.doubled += len(listed) - len(set(listed))


def rows_of(folder: Path) -> list[str]:
    """The runs of results.csv."""
    path = folder / "results" / "results.csv"
    return [row["run_id"] for row in csv.DictReader(path.read_text().splitlines())] if path.exists() else []


def finished(folder: Path) -> set[str]:
    """The runs that have a result, each of which is whole."""
    paths = folder.glob("results/runs/*/result.json")
    return {json.loads(path.read_text())["run_id"] for path in paths}


def outcome(folder: Path) -> dict[str, Any]:
    """For every finished run what must not depend on faults: result, weights and log, but for what is measured."""
    return {run: _of_run(folder / "results" / "runs" / run) for run in finished(folder)}


def _of_run(run: Path) -> dict[str, Any]:
    result = json.loads((run / "result.json").read_text())
    log = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
    return {
        "result": {key: value for key, value in result.items() if key not in MEASURED},
        "log": [{key: value for key, value in line.items() if key != "seconds"} for line in log],
        "weights": [(run / f"{name}.safetensors").read_bytes() for name in ("best", "last")],
        "files": sorted(path.name for path in run.iterdir() if not path.name.startswith(".tmp-")),
    }


def deselect(config: Any, items: list[Any]) -> None:
    """Leave the long form of the campaign out, unless it is asked for by `-m`."""
    if "campaign" in config.option.markexpr:
        return
    long = [item for item in items if item.get_closest_marker("campaign")]
    if long:
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if not item.get_closest_marker("campaign")]


def summarize(reporter: Any) -> None:
    """Print what was counted as tables that a page can hold."""
    reports = [report for kind in ("passed", "failed") for report in reporter.stats.get(kind, ())]
    for kind, (columns, totals) in TABLES.items():
        (name, *numbers), sums = columns, []
        rows = [row for report in reports for noted, row in report.user_properties if noted == kind]
        if not rows:
            continue
        reporter.section(f"{kind} of faults")
        reporter.write_line("| " + " | ".join(columns) + " |")
        reporter.write_line("|" + "---|" * len(columns))
        for total, start in totals.items():
            parts = [row for row in rows if row[name].startswith(start)]
            if parts:
                sums.append({name: total, **{column: sum(part[column] for part in parts) for column in numbers}})
        for row in [*sorted(rows, key=lambda row: row[name]), *sums]:
            reporter.write_line("| " + " | ".join(str(row[column]) for column in columns) + " |")


def workers_in(folder: Path) -> list[int]:
    """The processes of sweeps that work in a folder."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            here = os.readlink(f"/proc/{name}/cwd") == str(folder)
            if here and b"lipgnn.sweep.worker" in Path(f"/proc/{name}/cmdline").read_bytes():
                found.append(int(name))
    return found


def wait_until(condition: Callable[[], Any], seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "that did not come"
        time.sleep(0.005)
