"""Whole epochs, by kernel and depth, beside the matrix products they cannot do without."""

from __future__ import annotations

import contextlib
import json
import sys
from dataclasses import asdict, replace
from typing import Any

from lipgnn.bench.attention import TINY
from lipgnn.bench.compare import Candidate, Comparison, Step, set_threads
from lipgnn.bench.gemm import products, replay
from lipgnn.bench.graphs import GraphChoice
from lipgnn.bench.inputs import CPU, make_ready
from lipgnn.bench.measurements import Measurement
from lipgnn.bench.peak import peak_of
from lipgnn.catalog import find_task
from lipgnn.datasets import Dataset
from lipgnn.diagnose.data import WholeData
from lipgnn.diagnose.profile import profile
from lipgnn.errors import RunFailed
from lipgnn.kernels import fused
from lipgnn.memory import memory_returned
from lipgnn.spec.run import RunSpec
from lipgnn.spec.sources import resolve
from lipgnn.training.divergence import Diverged
from lipgnn.training.recorders.gradients import GradientRecorder
from lipgnn.training.state import Training

GEMM = "gemm"
RECORDED = "fused recorded"
DIAGNOSED = "diagnose"


class TrainComparison(Comparison):
    """Epochs of one network, by the names of `lipgnn.bench.measurements.TRAIN`.

    Parameters
    ----------
    choice, dataset : the data, and how another process gets it.
    spec : the network; its kernel and norm are replaced by those asked for.
    """

    module = "lipgnn.bench.train"
    pairs = (("dgl", "fused"), (RECORDED, "fused"), (DIAGNOSED, "fused"), ("fused", GEMM), ("dgl", GEMM))

    def __init__(self, choice: GraphChoice, dataset: Dataset, spec: RunSpec, norms: tuple[str, ...]):
        self.choice, self.dataset, self.spec, self.norms = choice, dataset, spec, norms
        self.template = Measurement(
            bench="train",
            graph=dataset.name,
            nodes=dataset.num_nodes,
            edges=dataset.edges.shape[1],
            heads=spec.heads,
            width=spec.hidden,
            layers=spec.layers,
            measures="epoch",
            model=spec.model,
            stack=spec.stack,
        )

    def obstacle(self, what: str) -> str | None:
        return None if what in ("dgl", GEMM) else fused.obstacle(CPU)

    def norms_of(self, what: str) -> tuple[str | None, ...]:
        return (None,) if what == GEMM else self.norms

    def job(self, candidate: Candidate) -> dict[str, Any] | None:
        if candidate.what in (GEMM, RECORDED, DIAGNOSED):
            return None
        return {"graph": asdict(self.choice), "spec": self.spec_of(candidate).to_dict()}

    def steps(self, candidates: list[Candidate]) -> dict[Candidate, Step]:
        return {candidate: self._step(candidate) for candidate in candidates}

    def spec_of(self, candidate: Candidate) -> RunSpec:
        """The run that a candidate trains, or looks at."""
        kernel = "dgl" if candidate.what in ("dgl", GEMM) else "fused"
        return self.spec.with_values(kernel=kernel, norm=candidate.norm or self.spec.norm)

    def _step(self, candidate: Candidate) -> Step:
        spec = self.spec_of(candidate)
        if candidate.what == GEMM:
            # The reference has no matrix product but those of the linear maps.
            return replay(products(epoch(spec, self.dataset)))
        if candidate.what == DIAGNOSED:
            return diagnosis(spec, self.dataset)
        return epoch(spec, self.dataset, recorded=candidate.what == RECORDED)


def spec_for(choice: GraphChoice, **options: Any) -> RunSpec:
    """The specification of a run on the chosen data, with the defaults of the data set and the model."""
    # Recomputing where memory is short would be another cost than the one asked for.
    fixed = {"dataset": choice.dataset or "generated", "device": "cpu", "recompute_every": "0"}
    return resolve({**fixed, **options}, {}).spec


def epoch(spec: RunSpec, dataset: Dataset, *, recorded: bool = False) -> Step:
    """A step that trains for one more epoch and evaluates, and records gradients if asked to."""
    training = Training(spec, dataset, CPU)
    make_ready(training.batches.graph)
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
    network = find_task(dataset.task).network(spec, *dataset.shape)
    data = WholeData.of(spec, dataset, CPU)

    def step() -> None:
        profile(network, replace(data, batch=replace(data.batch, graph=data.graph.clone())))

    return step


def main(job: str) -> None:
    """Measure the memory of one epoch in this process, and write the MB as JSON."""
    values = json.loads(job)
    set_threads(values["threads"])
    choice, spec = GraphChoice(**values["graph"]), RunSpec(**values["spec"])
    epoch(spec.with_values(layers=2), TINY.training_data(spec))()
    # As `lipgnn train` does where activations are computed again: what is freed goes back to the system.
    with memory_returned() if spec.stack == "reversible" else contextlib.nullcontext():
        json.dump(peak_of(epoch(spec, choice.training_data(spec))), sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
