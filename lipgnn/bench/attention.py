"""The attention step and the whole layer, in every way there is, side by side."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

import torch

from lipgnn.bench.candidates import FOREIGN, NORM_FREE, build, obstacle
from lipgnn.bench.compare import Candidate, Effort, Tell, interleave, pairs_of, ratio_rows, rows_of
from lipgnn.bench.graphs import GraphChoice, Topology
from lipgnn.bench.inputs import Inputs, Shape
from lipgnn.bench.peak import peak_in_child, peak_of
from lipgnn.bench.rows import Report, Row
from lipgnn.catalog import NO_NORM
from lipgnn.errors import UsageError
from lipgnn.runtime import dgl

PAIRS = (
    ("dgl", "fused"),
    ("fused", "gather"),
    ("dgl", "gather"),
    ("layer dgl", "layer fused"),
    ("dgl.nn", "layer fused"),
    ("dgl.nn", "layer dgl"),
    ("pyg", "layer fused"),
    ("pyg", "layer dgl"),
    ("layer fused", "gemm"),
    ("layer dgl", "gemm"),
)
WITH_NORM = ("fused", "dgl", "layer fused", "layer dgl")
# Enough for every library to be loaded and for every code path to have been taken once.
TINY = GraphChoice(nodes=64, edges=256)


def bench_attention(
    choice: GraphChoice,
    topology: Topology,
    shape: Shape,
    *,
    whats: Iterable[str],
    norms: Iterable[str],
    effort: Effort,
    tell: Tell,
) -> Report:
    """Compare on one graph at one shape.

    Parameters
    ----------
    choice, topology : the graph, and how another process gets it.
    whats : names of `lipgnn.bench.rows.ATTENTION`.
    norms : each for all candidates that have a place for one.
    tell : told what is measured next.

    Raises
    ------
    UsageError : nothing is left to measure.
    """
    set_threads(effort.threads)
    norms = list(norms)
    candidates, left_out = choose_candidates(whats, norms, shape, topology.edges.shape[1])
    template = _template(topology, shape, effort)
    peaks = {}
    for candidate in candidates if effort.peak else ():
        tell(f"{candidate}, memory")
        job = {"graph": asdict(choice), "shape": asdict(shape), "candidate": candidate, "threads": effort.threads}
        peaks[candidate] = peak_in_child("lipgnn.bench.attention", job, effort.threads)
    inputs = Inputs(topology, shape)
    steps = {candidate: build(*candidate, inputs) for candidate in candidates}
    times = interleave(steps, effort.repeats, tell)
    pairs = pairs_of(PAIRS, norms, across=WITH_NORM)
    return Report([*rows_of(times, peaks, template), *ratio_rows(times, pairs, template)], left_out)


def _template(topology: Topology, shape: Shape, effort: Effort) -> Row:
    return Row(
        bench="attention",
        graph=topology.name,
        nodes=topology.num_nodes,
        edges=topology.edges.shape[1],
        heads=shape.heads,
        width=shape.width,
        layers=1,
        measures="forward+backward" if shape.backward else "forward",
        model=shape.model,
        repeats=effort.repeats,
        threads=effort.threads,
    )


def choose_candidates(
    whats: Iterable[str], norms: Iterable[str], shape: Shape, num_edges: int
) -> tuple[list[Candidate], list[str]]:
    """What can be measured, each with every norm it has a place for, and a line for what cannot.

    Raises
    ------
    UsageError : nothing can.
    """
    candidates, left_out = [], []
    for what in whats:
        if reason := obstacle(what, shape, num_edges):
            left_out.append(f"{what} is left out at {shape.heads}×{shape.width}: {reason}.")
        elif what in NORM_FREE:
            candidates.append(Candidate(what))
        else:
            candidates += [Candidate(what, norm) for norm in ((NO_NORM,) if what in FOREIGN else norms)]
    if not candidates:
        raise UsageError(f"Nothing is left to measure: {' '.join(left_out)}", "Ask for more with --what.")
    return candidates, left_out


def set_threads(threads: int) -> None:
    """Let torch and DGL, which have their own counts, use so many threads."""
    torch.set_num_threads(threads)
    dgl.utils.set_num_threads(threads)


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
