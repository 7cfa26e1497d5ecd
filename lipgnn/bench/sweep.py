"""What one tiny run costs inside a sweep, beside the same run by `lipgnn train`. No torch here but in the processes."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lipgnn.bench.spread import Spread
from lipgnn.results.store import Store
from lipgnn.spec.grid import Grid
from lipgnn.sweep.engines.events import Ended, Orders
from lipgnn.sweep.engines.local import LocalEngine
from lipgnn.sweep.plan import PlannedRun, make_plan

TINY = {"dataset": "planted", "layers": 2, "hidden": 4, "heads": 2, "epochs": 2, "device": "cpu"}


@dataclass(frozen=True)
class SweepTiming:
    """Seconds of one run from request to result, without the epochs themselves.

    Attributes
    ----------
    train : by `lipgnn train`, a process of its own.
    first : as the first of a worker, which imports what it needs.
    warm : as a later one of the same worker.
    ratio : train to warm, pair by pair.
    """

    train: Spread
    first: float
    warm: Spread
    ratio: Spread


def bench_sweep(repeats: int, train_command: Sequence[str]) -> SweepTiming:
    """Compute the same runs in both ways, taking turns.

    Parameters
    ----------
    repeats : pairs to measure.
    train_command : words that call `lipgnn train`.
    """
    threads = os.cpu_count() or 1
    with tempfile.TemporaryDirectory(prefix="lipgnn-bench-") as name:
        store = Store(Path(name) / "sweep")
        specs, _ = Grid({"seed": range(repeats + 1)}, fixed=TINY).runs({})
        runs = make_plan(specs, store).runs
        engine = LocalEngine(Orders(store.root, threads=threads), keep_warm=True)
        try:
            first = _by_sweep(engine, runs[0])
            train, warm = [], []
            for planned in runs[1:]:
                train.append(_by_train(train_command, planned, Path(name) / "train", threads))
                warm.append(_by_sweep(engine, planned))
        finally:
            engine.close()
    ratios = [slow / fast for slow, fast in zip(train, warm, strict=True)]
    return SweepTiming(Spread.of(train), first, Spread.of(warm), Spread.of(ratios))


def _by_sweep(engine: LocalEngine, planned: PlannedRun) -> float:
    began = time.perf_counter()
    (ended,) = (event for event in engine.run([planned], lambda: False) if isinstance(event, Ended))
    if ended.result is None:
        raise AssertionError(f"a tiny run must end well, not {ended.status}: {ended.reason}")
    return time.perf_counter() - began - ended.result["seconds"]


def _by_train(command: Sequence[str], planned: PlannedRun, results: Path, threads: int) -> float:
    options = {**TINY, "seed": planned.spec.seed, "results": results}
    words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    began = time.perf_counter()
    done = subprocess.run(
        [*command, *words, "--quiet", "--json"],
        env={**os.environ, "OMP_NUM_THREADS": str(threads)},
        check=True,
        stdout=subprocess.PIPE,
    )
    return time.perf_counter() - began - json.loads(done.stdout)["seconds"]
