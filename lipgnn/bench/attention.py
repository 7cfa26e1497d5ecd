"""The attention step and the whole layer, in every way there is, side by side."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import Any

from lipgnn.bench.candidates import build
from lipgnn.bench.compare import Candidate, Comparison, Step, set_threads
from lipgnn.bench.graphs import GraphChoice, Topology
from lipgnn.bench.inputs import CPU, Inputs, Shape
from lipgnn.bench.measurements import BESIDE_SHARED, Measurement
from lipgnn.bench.peak import peak_of
from lipgnn.catalog import NO_NORM
from lipgnn.kernels import fused

# Enough for every library to be loaded and for every code path to have been taken once.
TINY = GraphChoice(nodes=64, edges=256)


class AttentionComparison(Comparison):
    """One layer on one graph at one shape, by the names of `lipgnn.bench.measurements.ATTENTION`.

    Parameters
    ----------
    choice, topology : the graph, and how another process gets it.
    """

    module = "lipgnn.bench.attention"
    pairs = (
        ("dgl", "fused"),
        ("fused", "gather"),
        ("dgl", "gather"),
        ("layer dgl", "layer fused"),
        ("dgl.nn", "layer fused"),
        ("dgl.nn", "layer dgl"),
        ("layer fused", "gemm"),
        ("layer dgl", "gemm"),
        ("plain", "fused"),
        ("layer plain", "layer fused"),
    )

    def __init__(self, choice: GraphChoice, topology: Topology, shape: Shape, norms: tuple[str, ...]):
        self.choice, self.topology, self.shape, self.norms = choice, topology, shape, norms
        self.template = Measurement(
            bench="attention",
            graph=topology.name + (f", {shape.edge_types} edge types" if shape.edge_types else ""),
            nodes=topology.num_nodes,
            edges=topology.edges.shape[1],
            heads=shape.heads,
            width=shape.width,
            layers=1,
            measures="forward+backward",
            model=str(shape),
        )

    def obstacle(self, what: str) -> str | None:
        sharing = self.shape.sharing
        if what in BESIDE_SHARED and not sharing:
            return "it is what shared heads are held against, and these share nothing (--head-sharing)"
        if what in ("fused", "dgl", "plain") and sharing and sharing.groups:
            return "heads that share keys in groups are measured as whole layers"
        if what in ("fused", "layer fused", *BESIDE_SHARED):
            return fused.obstacle(CPU)
        return "DGL has no layer of this kind" if what == "dgl.nn" and self.shape.model == "gt" else None

    def norms_of(self, what: str) -> tuple[str | None, ...]:
        return {"gather": (None,), "gemm": (None,), "dgl.nn": (NO_NORM,)}.get(what, self.norms)

    def job(self, candidate: Candidate) -> dict[str, Any]:
        return {"graph": asdict(self.choice), "shape": asdict(self.shape), "candidate": candidate}

    def steps(self, candidates: list[Candidate]) -> dict[Candidate, Step]:
        inputs = Inputs(self.topology, self.shape)
        return {candidate: build(*candidate, inputs) for candidate in candidates}


def main(job: str) -> None:
    """Measure the memory of one candidate in this process, and write the MB as JSON."""
    values: dict[str, Any] = json.loads(job)
    set_threads(values["threads"])
    what, norm = values["candidate"]
    shape = Shape(**values["shape"])
    build(what, norm, Inputs(TINY.topology(), shape))()
    inputs = Inputs(GraphChoice(**values["graph"]).topology(), shape)
    json.dump(peak_of(build(what, norm, inputs)), sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
