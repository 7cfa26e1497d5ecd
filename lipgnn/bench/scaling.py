"""How the cost grows with edges, size, width, heads and depth: doubling grids, and the power that fits them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from lipgnn.bench.attention import set_threads
from lipgnn.bench.candidates import build, obstacle
from lipgnn.bench.compare import Effort, Step, Tell, interleave, timed
from lipgnn.bench.fit import fit_power
from lipgnn.bench.graphs import GraphChoice, Topology, made_up
from lipgnn.bench.inputs import Inputs, Shape
from lipgnn.bench.rows import Report, Row
from lipgnn.bench.train import epoch, spec_for
from lipgnn.errors import UsageError

# The first point of a grid; every further one is twice the one before. Edges and size start at the graph that is given.
STARTS = {"width": 8, "heads": 2, "depth": 5}


@dataclass(frozen=True)
class Point:
    """One point of a grid.

    Attributes
    ----------
    size : its place on the axis.
    row : what is the same for all kernels.
    make : the step of a kernel.
    """

    size: int
    row: Row
    make: Callable[[str], Step]


def bench_scaling(
    choice: GraphChoice,
    shape: Shape,
    *,
    against: str,
    points: int,
    whats: Iterable[str],
    norm: str,
    effort: Effort,
    tell: Tell,
) -> Report:
    """Time every point of one grid, all points and kernels in turn, and fit a power for each kernel.

    Against depth whole epochs are timed, against all else the edge part of one layer.

    Parameters
    ----------
    choice : the smallest generated graph; against edges its nodes stay, against size they grow with the edges.
    shape : heads and width where they are not what is varied.
    against : "edges", "size", "width", "heads" or "depth".
    points, whats : of the grid; kernels, "fused" and "dgl".
    tell : told what is measured next.

    Raises
    ------
    UsageError : nothing is left to measure.
    """
    set_threads(effort.threads)
    kernels, left_out = choose_kernels(whats, shape)
    common = Row(
        bench="scaling", norm=norm, against=against, model=shape.model, repeats=effort.repeats, threads=effort.threads
    )
    steps, measured = {}, {}
    for point in grid(common, choice, shape, points):
        for kernel in kernels:
            label = f"{kernel}, {against} {point.size}"
            steps[label], measured[label] = point.make(kernel), (point.size, replace(point.row, what=kernel))
    times = interleave(steps, effort.repeats, tell)
    timings = [(size, timed(row, times[label])) for label, (size, row) in measured.items()]
    return Report([*(row for _, row in timings), *_fits(timings, kernels, common)], left_out)


def choose_kernels(whats: Iterable[str], shape: Shape) -> tuple[list[str], list[str]]:
    """The kernels that can be measured, and a line for every other.

    Raises
    ------
    UsageError : none can.
    """
    reasons = {what: obstacle(what, shape, num_edges=0) for what in whats}
    left_out = [f"{what} is left out: {reason}." for what, reason in reasons.items() if reason]
    kernels = [what for what, reason in reasons.items() if not reason]
    if not kernels:
        raise UsageError(f"Nothing is left to measure: {' '.join(left_out)}", "Ask for more with --what.")
    return kernels, left_out


def grid(common: Row, choice: GraphChoice, shape: Shape, points: int) -> Iterator[Point]:
    """The points of the axis that `common` names, smallest first."""
    against, norm = common.against, common.norm
    for factor in (2**k for k in range(points)):
        if against in ("edges", "size"):
            nodes = choice.nodes * (factor if against == "size" else 1)
            topology = replace(choice, nodes=nodes, edges=choice.edges * factor).topology()
            size = topology.edges.shape[1]
        else:
            topology = choice.topology()
            size = STARTS[against] * factor
        at = replace(shape, **{against: size}) if against in ("heads", "width") else shape
        row = _place(common, topology, at, layers=size if against == "depth" else 1)
        if against == "depth":
            yield Point(size, row, _epochs(topology, choice, at, size, norm))
        else:
            yield Point(size, row, _edge_parts(topology, at, norm))


def _place(common: Row, topology: Topology, shape: Shape, *, layers: int) -> Row:
    return replace(
        common,
        graph=topology.name,
        nodes=topology.num_nodes,
        edges=topology.edges.shape[1],
        heads=shape.heads,
        width=shape.width,
        layers=layers,
        measures="epoch" if common.against == "depth" else "forward+backward",
    )


def _edge_parts(topology: Topology, shape: Shape, norm: str) -> Callable[[str], Step]:
    inputs = Inputs(topology, shape)
    return lambda kernel: build(kernel, norm, inputs)


def _epochs(topology: Topology, choice: GraphChoice, shape: Shape, layers: int, norm: str) -> Callable[[str], Step]:
    dataset = made_up(topology, choice.seed)
    options = {"model": shape.model, "layers": layers, "heads": shape.heads, "hidden": shape.width, "norm": norm}
    # Recomputing where memory is short would be another cost than that of depth.
    return lambda kernel: epoch(spec_for(choice, **options, kernel=kernel, recompute_every="0"), dataset)


def _fits(timings: list[tuple[int, Row]], kernels: list[str], common: Row) -> Iterator[Row]:
    """A row for every kernel with the power that fits its medians; none from a single point."""
    for kernel in kernels:
        mine = [(size, row) for size, row in timings if row.what == kernel]
        if len(mine) > 1:
            fit = fit_power([size for size, _ in mine], [row.ms for _, row in mine])
            yield replace(
                common,
                what=f"fit {kernel}",
                exponent=fit.exponent,
                stderr=fit.stderr,
                graph=mine[0][1].graph,
                measures=mine[0][1].measures,
            )
