"""What the tool costs beside the epochs: its commands in fresh processes, on stores of several sizes. No torch here."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from lipgnn.bench.compare import Candidate, Tell, interleave, measurements_of
from lipgnn.bench.measurements import Measurement, Report
from lipgnn.files import to_json
from lipgnn.results.run import SCHEMA
from lipgnn.results.store import Store
from lipgnn.spec.grid import Grid

TINY = {"dataset": "planted", "hidden": 4, "heads": 2, "epochs": 2, "device": "cpu"}
ONE_RUN = {**TINY, "layers": 2}
NORMS = ("none", "lip", "pair", "lip+pair")
LAYERS = (1, 2, 3, 4, 5)
# So few that one worker computes them all: after 50 runs a sweep starts another.
FURTHER = 40
ONE, MANY = Candidate("sweep of 1 run"), Candidate(f"sweep of {1 + FURTHER} runs")


def bench_overhead(program: Sequence[str], sizes: Iterable[int], repeats: int, tell: Tell) -> Report:
    """Time a tiny `train`, the plan of a sweep and a report on stores of so many runs, and a run of a sweep.

    Parameters
    ----------
    program : words that call `lipgnn` and write the most bytes it had as the last line on stderr.
    sizes : runs in a store; rounded up to full grids.

    Raises
    ------
    subprocess.CalledProcessError : a command failed; its time would mean nothing.
    """
    with tempfile.TemporaryDirectory(prefix="lipgnn-bench-") as name:
        folder = Path(name)
        fresh = folder / "fresh"
        commands = {ONE: _sweep("0", fresh), MANY: _sweep(f"0-{FURTHER}", fresh)}
        _call(program, ["train", *_words(ONE_RUN), "--results", str(folder / "first")])
        (result,) = Store(folder / "first").results()
        for size in sizes:
            grid = grid_of(size)
            store = Store(folder / str(size))
            commands |= commands_on(store.root, grid, write_store(store, grid, result))
        peaks: dict[str, float] = {}
        steps = {key: _step(program, key.what, words, fresh, peaks) for key, words in commands.items()}
        times = interleave(steps, repeats, tell)
    times[Candidate("a further run")] = [
        (many - one) / FURTHER for one, many in zip(times[ONE], times[MANY], strict=True)
    ]
    template = Measurement(bench="overhead", measures="process", repeats=repeats)
    timed = measurements_of(times, template)
    return Report([replace(each, peak_mb=peaks.get(each.what)) for each in timed], [])


def grid_of(runs: int) -> Grid:
    """A grid of tiny runs, with at least so many of them."""
    seeds = -(-runs // (len(NORMS) * len(LAYERS)))
    return Grid({"seed": range(seeds), "norm": NORMS, "layers": LAYERS}, fixed=TINY)


def write_store(store: Store, grid: Grid, result: dict[str, Any]) -> int:
    """Give all runs of a grid one and the same result; returns how many they are."""
    specs, _ = grid.runs({})
    for spec in specs:
        run = store.run(spec.run_id(result["fingerprint"]))
        run.path.mkdir(parents=True)
        # Not as real results are written: thousands of forced writes to disk are not what is measured here.
        run.result_path.write_bytes(to_json({"schema": SCHEMA, **result, **spec.to_dict(), "run_id": run.id}))
    return len(specs)


def commands_on(results: Path, grid: Grid, runs: int) -> dict[Candidate, list[str]]:
    """What is timed on a store that has all runs of a grid, by name."""
    lists = {name: ",".join(map(str, values)) for name, values in grid.crossed.items()}
    store = ["--results", str(results)]
    return {
        Candidate(f"train beside {runs} runs"): ["train", *_words(ONE_RUN), "--force", "--quiet", *store],
        Candidate(f"plan of {runs} runs"): ["sweep", *_words({**TINY, **lists}), "--dry-run", *store],
        Candidate(f"report of {runs} runs"): ["report", *store],
    }


def _sweep(seeds: str, results: Path) -> list[str]:
    return ["sweep", *_words({**ONE_RUN, "seeds": seeds, "jobs": 1, "results": results}), "--quiet"]


def _words(options: dict[str, Any]) -> list[str]:
    return [word for name, value in options.items() for word in (f"--{name}", str(value))]


def _step(program: Sequence[str], name: str, words: list[str], fresh: Path, peaks: dict) -> Callable[[], None]:
    """A step that calls the program, with `fresh` empty, and keeps the largest of its peaks."""

    def step() -> None:
        shutil.rmtree(fresh, ignore_errors=True)
        peaks[name] = max(_call(program, words), peaks.get(name, 0.0))

    return step


def _call(program: Sequence[str], words: list[str]) -> float:
    """Call the program without variables that would choose other runs; returns the MB it had at most."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("LIPGNN_")}
    command = [*program, *words]
    done = subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True)
    return round(int(done.stderr.split()[-1]) / 2**20, 1)
