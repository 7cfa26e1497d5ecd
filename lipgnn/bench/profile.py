"""Where the time of an epoch goes, operation by operation."""

from __future__ import annotations

from dataclasses import replace

from torch.autograd import profiler

from lipgnn.bench.attention import set_threads
from lipgnn.bench.compare import Effort, Tell
from lipgnn.bench.rows import Report
from lipgnn.bench.train import epoch, template_of
from lipgnn.datasets import Dataset
from lipgnn.spec.run import RunSpec

# What torch calls our own operations, and what they are.
NAMES = {
    "_Additive": "attention, forward",
    "_AdditiveBackward": "attention, backward",
    "_DotProduct": "attention, forward",
    "_DotProductBackward": "attention, backward",
    "_ResidualElu": "end of a block, forward",
    "_ResidualEluBackward": "end of a block, backward",
    "_SparseLinear": "sparse encoder, forward",
    "_SparseLinearBackward": "sparse encoder, backward",
}
REST = "everything else"


def bench_profile(dataset: Dataset, spec: RunSpec, *, top: int, threads: int, tell: Tell) -> Report:
    """Profile one epoch after two that warm up.

    Returns
    -------
    rows with the milliseconds of the `top` operations, their own time alone; then the rest.
    """
    set_threads(threads)
    step = epoch(spec, dataset)
    for turn in range(2):
        tell(f"warming up, {turn + 1} of 2")
        step()
    tell("profiling")
    with profiler.profile(use_kineto=False) as profile:
        step()
    own: dict[str, float] = {}
    for event in profile.key_averages():
        own[event.key] = own.get(event.key, 0.0) + event.self_cpu_time_total / 1000
    total = sum(own.values())
    largest = sorted(own, key=own.get, reverse=True)[:top]
    times = {name: own[name] for name in largest} | {REST: total - sum(own[name] for name in largest)}
    template = replace(template_of(dataset, spec, Effort(1, threads), "profile"), norm=spec.norm)
    rows = [replace(template, what=_named(name), ms=ms) for name, ms in times.items()]
    return Report(rows, [])


def _named(operation: str) -> str:
    return NAMES.get(operation, operation.removeprefix("aten::"))
