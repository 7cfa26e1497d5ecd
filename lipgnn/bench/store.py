"""Planning, rebuilding and reporting on a store of many made-up runs, each step in a fresh process. No torch here.

The process measures itself: seconds of the step with what it imports, and the largest memory it ever had.
"""

from __future__ import annotations

import itertools
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import lipgnn
from lipgnn.bench.spread import Spread
from lipgnn.files import to_json
from lipgnn.results.store import SCHEMA, Store
from lipgnn.runtime import peak_memory_mb
from lipgnn.spec.grid import Grid
from lipgnn.spec.run import RunSpec
from lipgnn.spec.sources import command_for
from lipgnn.sweep.plan import fingerprint_of, make_plan

DATASET = "cora"
NORMS = ("none", "lip", "pair", "lip+pair")
LAYERS = (2, 5, 10, 15, 20, 25, 30, 40, 50, 60)


@dataclass(frozen=True)
class StoreTiming:
    """One step on a store of so many runs.

    Attributes
    ----------
    step : "plan", "csv" or "report".
    memory_mb : peak of the process.
    """

    step: str
    runs: int
    seconds: Spread
    memory_mb: Spread


def bench_store(runs: int, repeats: int) -> Iterator[StoreTiming]:
    """Measure every step on stores of a tenth and of all the runs.

    Parameters
    ----------
    runs : in the larger store.
    repeats : fresh processes a step; sizes and steps take turns.
    """
    with tempfile.TemporaryDirectory(prefix="lipgnn-bench-") as name:
        sizes = (max(1, runs // 10), runs)
        for size in sizes:
            write_store(Store(Path(name) / str(size)), size)
        cases = list(itertools.product(STEPS, sizes))
        measured: dict[tuple[str, int], list[dict[str, float]]] = {case: [] for case in cases}
        for _ in range(repeats):
            for step, size in cases:
                measured[step, size].append(_measure(step, Path(name) / str(size), size))
        for (step, size), values in measured.items():
            seconds, memory = ([value[key] for value in values] for key in ("seconds", "memory_mb"))
            yield StoreTiming(step, size, Spread.of(seconds), Spread.of(memory))


def bytes_a_run(small: StoreTiming, large: StoreTiming) -> float:
    """How much memory every further run costs; not below zero, where noise would put it."""
    return max(0.0, (large.memory_mb.median - small.memory_mb.median) * 2**20 / (large.runs - small.runs))


def grid_of(runs: int) -> Grid:
    """A grid with at least so many runs."""
    seeds = -(-runs // (len(NORMS) * len(LAYERS)))
    return Grid({"seed": range(seeds), "norm": NORMS, "layers": LAYERS}, fixed={"dataset": DATASET})


def write_store(store: Store, runs: int) -> None:
    """Write results for the first so many runs of the grid, with numbers out of a hat."""
    specs, _ = grid_of(runs).runs({})
    for spec in specs[:runs]:
        run = store.run(spec.run_id(fingerprint_of(spec.dataset, spec.split)))
        run.path.mkdir(parents=True)
        # Not published as real results are: thousands of forced writes to disk are not what is measured here.
        run.result_path.write_bytes(to_json({"schema": SCHEMA, **_made_up(spec, run.id)}))


def _made_up(spec: RunSpec, run_id: str) -> dict[str, object]:
    hat = random.Random(run_id)
    accuracies = {name: round(hat.uniform(0.6, 0.9), 4) for name in ("train_score", "val_score", "test_score")}
    return {
        **spec.to_dict(),
        "run_id": run_id,
        "status": "done",
        "epochs_run": hat.randint(60, 200),
        "best_epoch": hat.randint(1, 60),
        "epochs_to_90": 60,
        **accuracies,
        "last_test_score": accuracies["test_score"],
        "train_loss": hat.random(),
        "val_loss": hat.random(),
        "max_grad_norm": hat.random(),
        "parameters": hat.randint(10**4, 10**6),
        "seconds": hat.uniform(5, 50),
        "seconds_per_epoch": hat.random(),
        "peak_memory_mb": hat.uniform(300, 900),
        "fingerprint": fingerprint_of(spec.dataset, spec.split),
        "version": lipgnn.__version__,
        "command": command_for(spec),
        "diverged_at": None,
    }


def _measure(step: str, folder: Path, runs: int) -> dict[str, float]:
    command = [sys.executable, "-m", "lipgnn.bench.store", step, str(folder), str(runs)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def _plan(store: Store, runs: int) -> None:
    specs, _ = grid_of(runs).runs({})
    if any(planned.state != "done" for planned in make_plan(specs[:runs], store).runs):
        raise AssertionError("the plan does not find the runs of its own grid")


def _csv(store: Store, runs: int) -> None:
    store.rebuild_csv()


def _report(store: Store, runs: int) -> None:
    from lipgnn.report.table.cells import build_table
    from lipgnn.report.table.layout import Layout
    from lipgnn.report.view.formats import markdown
    from lipgnn.report.view.printed import as_printed
    from lipgnn.results.rows import read_results

    layout = Layout(("norm",), ("layers",), "test_score", ("seed",), ())
    markdown(as_printed(build_table(read_results([store.root]).rows, layout)))


STEPS = {"plan": _plan, "csv": _csv, "report": _report}


def main(step: str, folder: str, runs: str) -> None:
    """Take one step and write what it took as JSON."""
    began = time.perf_counter()
    STEPS[step](Store(Path(folder)), int(runs))
    seconds = time.perf_counter() - began
    json.dump({"seconds": seconds, "memory_mb": peak_memory_mb()}, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
