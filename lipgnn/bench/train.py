"""Whole epochs, by kernel and depth, beside the matrix products they cannot do without."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterable
from dataclasses import asdict, replace
from typing import Any

from lipgnn.bench.attention import TINY, set_threads
from lipgnn.bench.compare import Candidate, Effort, Step, Tell, interleave, pairs_of, ratio_rows, rows_of
from lipgnn.bench.gemm import replay
from lipgnn.bench.graphs import GraphChoice
from lipgnn.bench.inputs import CPU
from lipgnn.bench.peak import peak_in_child, peak_of
from lipgnn.bench.rows import Report, Row
from lipgnn.catalog import find_task
from lipgnn.datasets import Dataset
from lipgnn.diagnose.data import WholeData
from lipgnn.diagnose.profile import profile
from lipgnn.errors import RunFailed, UsageError
from lipgnn.kernels import fused
from lipgnn.kernels.adjacency import Adjacency
from lipgnn.memory import memory_returned
from lipgnn.spec.run import RunSpec
from lipgnn.spec.sources import resolve
from lipgnn.training.recorders.gradients import GradientRecorder
from lipgnn.training.state import Diverged, Training

GEMM = "gemm"
RECORDED = "fused recorded"
DIAGNOSED = "diagnose"
# Those that train or look at a network with the fused kernel.
OF_FUSED = ("fused", RECORDED, DIAGNOSED)
PAIRS = (("dgl", "fused"), (RECORDED, "fused"), (DIAGNOSED, "fused"), ("fused", GEMM), ("dgl", GEMM))


def bench_train(
    choice: GraphChoice,
    dataset: Dataset,
    spec: RunSpec,
    *,
    whats: Iterable[str],
    norms: Iterable[str],
    effort: Effort,
    tell: Tell,
) -> Report:
    """Compare epochs of one network: kernels, norms, and the dense matrix products of the same epochs.

    Parameters
    ----------
    choice, dataset : the data, and how another process gets it.
    spec : the network; its kernel and norm are replaced by those asked for.
    whats : names of `lipgnn.bench.rows.TRAIN`.
    tell : told what is measured next.

    Raises
    ------
    UsageError : nothing is left to measure.
    """
    set_threads(effort.threads)
    norms = list(norms)
    # Of these, memory is not asked for.
    timed_alone = (GEMM, RECORDED, DIAGNOSED)
    candidates, left_out = choose_candidates([w for w in whats if effort.repeats or w not in timed_alone], norms)
    template = template_of(dataset, spec, effort)
    peaks = {}
    for candidate in candidates if effort.peak else ():
        if candidate.what not in timed_alone:
            tell(f"{candidate}, memory")
            job = {"graph": asdict(choice), "spec": _spec_of(candidate, spec).to_dict(), "threads": effort.threads}
            peaks[candidate] = peak_in_child("lipgnn.bench.train", job, effort.threads)
    steps = {c: _step_of(c, spec, dataset) for c in candidates} if effort.repeats else dict.fromkeys(candidates)
    times = interleave(steps, effort.repeats, tell)
    pairs = pairs_of(PAIRS, norms, across=("fused", "dgl"))
    return Report([*rows_of(times, peaks, template), *ratio_rows(times, pairs, template)], left_out)


def template_of(dataset: Dataset, spec: RunSpec, effort: Effort, bench: str = "train") -> Row:
    """What the rows about epochs of one network share."""
    return Row(
        bench=bench,
        graph=dataset.name,
        nodes=dataset.num_nodes,
        edges=dataset.edges.shape[1],
        heads=spec.heads,
        width=spec.hidden,
        layers=spec.layers,
        measures="epoch",
        model=spec.model,
        stack=spec.stack,
        recompute_every=spec.recompute_every,
        repeats=effort.repeats,
        threads=effort.threads,
    )


def spec_for(choice: GraphChoice, **options: Any) -> RunSpec:
    """The specification of a run on the chosen data, with the defaults of the data set and the model."""
    return resolve({"dataset": choice.dataset or "generated", "device": "cpu", **options}, {}).spec


def choose_candidates(whats: Iterable[str], norms: Iterable[str]) -> tuple[list[Candidate], list[str]]:
    """What can be measured, each with every norm it has a place for, and a line for what cannot.

    Raises
    ------
    UsageError : nothing can.
    """
    whats = list(whats)
    left_out = []
    for what in OF_FUSED:
        if what in whats and (reason := fused.obstacle(CPU)):
            whats.remove(what)
            left_out.append(f"{what} is left out: {reason}.")
    candidates = [Candidate(what, norm) for what in whats for norm in ((None,) if what == GEMM else norms)]
    if not candidates:
        raise UsageError(f"Nothing is left to measure: {' '.join(left_out)}", "Ask for more with --what.")
    return candidates, left_out


def epoch(spec: RunSpec, dataset: Dataset, *, recorded: bool = False) -> Step:
    """A step that trains for one more epoch and evaluates, and records gradients if asked to."""
    training = Training(spec, dataset, CPU)
    # Made here, so that no epoch is the one that makes them.
    graph = training.batches.graph
    graph.create_formats_()
    Adjacency.of(graph)
    recorder = GradientRecorder(training) if recorded else None

    def step() -> None:
        try:
            training.step()
            if recorder:
                recorder.end_epoch(training.epoch)
        except Diverged as error:
            raise RunFailed(
                f"The network measured diverged, {error}.",
                "Choose a norm or fewer layers; its times would mean nothing.",
            ) from error

    return step


def diagnosis(spec: RunSpec, dataset: Dataset) -> Step:
    """A step that looks at a network as `lipgnn diagnose` does, on a graph of which nothing is known yet."""
    network = find_task(dataset.task).network(spec, dataset.num_features, dataset.num_classes)
    data = WholeData.of(spec, dataset, CPU)

    def step() -> None:
        profile(network, replace(data, graph=data.graph.clone()))

    return step


def _spec_of(candidate: Candidate, spec: RunSpec) -> RunSpec:
    return spec.with_values(kernel="fused" if candidate.what in OF_FUSED else candidate.what, norm=candidate.norm)


def _step_of(candidate: Candidate, spec: RunSpec, dataset: Dataset) -> Step:
    if candidate.what == GEMM:
        # The reference has no matrix product but those of the linear maps.
        return replay(epoch(spec.with_values(kernel="dgl"), dataset))[0]
    spec = _spec_of(candidate, spec)
    if candidate.what == DIAGNOSED:
        return diagnosis(spec, dataset)
    return epoch(spec, dataset, recorded=candidate.what == RECORDED)


def main(job: str) -> None:
    """Measure the memory of one epoch in this process, and write the MB as JSON."""
    values = json.loads(job)
    set_threads(values["threads"])
    choice, spec = GraphChoice(**values["graph"]), RunSpec(**values["spec"])
    epoch(spec.with_values(layers=2), TINY.training_data(spec))()
    # As `lipgnn train` does where activations are computed again: what is freed goes back to the system.
    frugal = spec.stack == "reversible" or spec.recompute_every != "0"
    with memory_returned() if frugal else contextlib.nullcontext():
        json.dump(peak_of(epoch(spec, choice.training_data(spec))), sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
