"""What it could gain to compute runs that differ in their seed alone as one: an upper bound."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse

from lipgnn.bench.attention import set_threads
from lipgnn.bench.compare import Candidate, Effort, Step, Tell, interleave, ratio_rows, rows_of
from lipgnn.bench.rows import Report
from lipgnn.bench.train import epoch, template_of
from lipgnn.datasets import Dataset
from lipgnn.datasets.source import Split
from lipgnn.spec.run import RunSpec

SEPARATE, STACKED = Candidate("separate"), Candidate("stacked")


def bench_seeds(dataset: Dataset, spec: RunSpec, *, seeds: int, cores: int, repeats: int, tell: Tell) -> Report:
    """Milliseconds an epoch and run, with every core busy: one run a core, or all runs in one stacked graph.

    An upper bound of what stacking gains: the copies share their weights, so that a matrix product of all takes the
    place of one for each run. The runs of their own, on the other hand, are timed alone and taken not to disturb
    each other.

    Parameters
    ----------
    seeds : runs in one stack.
    cores : of the machine; as many runs of their own are computed at a time, and as many threads have the stack.
    """
    one, all_of_them = epoch(spec, dataset), epoch(spec, stacked(dataset, seeds))
    steps = {SEPARATE: _with_threads(1, one), STACKED: _with_threads(cores, all_of_them)}
    times = interleave(steps, repeats, tell)
    shares = {SEPARATE: cores, STACKED: seeds}
    a_run = {candidate: [ms / shares[candidate] for ms in values] for candidate, values in times.items()}
    template = template_of(dataset, spec, Effort(repeats, cores), "seeds")
    return Report([*rows_of(a_run, {}, template), *ratio_rows(a_run, [(SEPARATE, STACKED)], template)], [])


def stacked(dataset: Dataset, copies: int) -> Dataset:
    """So many copies of a data set side by side, with no edge between them."""
    nodes = dataset.num_nodes
    edges = np.concatenate([dataset.edges + copy * nodes for copy in range(copies)], axis=1)
    features = dataset.features_array
    repeat = sparse.vstack if sparse.issparse(features) else np.concatenate
    features = repeat([features] * copies)
    split = Split(*(np.tile(mask, copies) for mask in dataset.split.parts.values()))
    labels = np.tile(dataset.source.labels, copies)
    source = replace(dataset.source, edges=edges, features=features, labels=labels, splits={})
    return Dataset(source, edges, features, split, dataset.fingerprint)


def _with_threads(threads: int, step: Step) -> Step:
    def run() -> None:
        set_threads(threads)
        step()

    return run
