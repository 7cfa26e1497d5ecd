"""Where the time of an epoch goes, operation by operation."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from torch.autograd import profiler

from lipgnn.bench.compare import Step, Tell, set_threads
from lipgnn.bench.measurements import Report
from lipgnn.bench.train import TrainComparison, epoch

# What torch calls our own operations, and what they are.
NAMES = {
    "Attend": "attention, forward",
    "AttendBackward": "attention, backward",
    "_ResidualElu": "end of a block, forward",
    "_ResidualEluBackward": "end of a block, backward",
    "_SparseLinear": "sparse encoder, forward",
    "_SparseLinearBackward": "sparse encoder, backward",
}
KERNELS = ("fused", "dgl")
REST = "everything else"
LARGEST = 12


def breakdown_of(comparison: TrainComparison, whats: Iterable[str], threads: int, tell: Tell) -> Report:
    """Of the kernels among `whats`, the operations that take most of one epoch after two, and the rest.

    Raises
    ------
    UsageError : no kernel is left to measure.
    """
    candidates, left_out = comparison.candidates(what for what in whats if what in KERNELS)
    set_threads(threads)
    measurements = []
    for candidate in candidates:
        step = epoch(comparison.spec_of(candidate), comparison.dataset)
        for turn in range(2):
            tell(f"{candidate}, warming up, {turn + 1} of 2")
            step()
        tell(f"{candidate}, breakdown")
        template = replace(comparison.template, bench="breakdown", norm=candidate.norm, threads=threads)
        own = own_times(step)
        total = sum(own.values())
        largest = sorted(own, key=own.get, reverse=True)[:LARGEST]
        times = {name: own[name] for name in largest} | {REST: total - sum(own[name] for name in largest)}
        measurements += [
            replace(template, what=f"{candidate.what}: {name}", ms=ms, ratio=ms / total, repeats=1)
            for name, ms in times.items()
        ]
    return Report(measurements, left_out)


def own_times(step: Step) -> dict[str, float]:
    """Milliseconds by operation, without those of other operations that it calls."""
    with profiler.profile(use_kineto=False) as seen:
        step()
    own: dict[str, float] = {}
    for event in seen.key_averages():
        name = NAMES.get(event.key, event.key.removeprefix("aten::"))
        own[name] = own.get(name, 0.0) + event.self_cpu_time_total / 1000
    return own
