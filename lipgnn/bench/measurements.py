"""What a bench comes to: measurements, with the same columns in every bench. No torch here."""

from __future__ import annotations

import csv
import io
import os
import platform
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from lipgnn.files import to_csv_text
from lipgnn.runtime import installed_version

# What the attention bench compares. An edge part starts from projected features and a whole layer from its input, so
# one must not be held against the other; the names say which is which.
ATTENTION = {
    "fused": "edge part by the fused kernel",
    "dgl": "edge part by DGL's message passing, the reference",
    "gather": "limit of an edge part: three sums over neighbours by dgl.ops.copy_u_sum",
    "layer fused": "whole layer with its projection, fused kernel",
    "layer dgl": "whole layer with its projection, DGL's message passing",
    "dgl.nn": "whole layer of dgl.nn (GATConv, GATv2Conv; without norm)",
    "gemm": "limit of a whole layer: its matrix products alone",
    "plain": "edge part of heads that share nothing, fused kernel, beside shared heads",
    "layer plain": "whole layer of heads that share nothing, fused kernel, beside shared heads",
}
# Those that only layers of shared heads are held against.
BESIDE_SHARED = ("plain", "layer plain")
TRAIN = {
    "fused": "epochs by the fused kernel",
    "fused recorded": "the same while gradients are recorded, as by `lipgnn train --record gradients`",
    "diagnose": "what `lipgnn diagnose` measures of the network, beside the epochs of its training",
    "dgl": "epochs by DGL's message passing, the reference",
    "gemm": "limit: the dense matrix products of the same epoch alone",
}


@dataclass(frozen=True)
class Range:
    """Median, least and largest of some numbers."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Range:
        return cls(statistics.median(values), min(values), max(values))


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """One thing measured, or a ratio or exponent made of such.

    Attributes
    ----------
    bench : "attention", "train", "breakdown" or "overhead".
    graph, nodes, edges : what it was measured on; edges count both directions and self-loops.
    heads, width, layers, norm : H, width D of one head, depth, norm; None where they make no difference.
    what : a name of `ATTENTION` or `TRAIN`, "A / B" for a ratio, "A: operation" for a breakdown, or a command.
    ms : median.
    peak_mb : what one step adds to the memory of a fresh process at its highest point (see `lipgnn.bench.peak`);
        of a command, all that its process has.
    low, high : least and largest of ms, or of the ratio, which is taken round by round.
    ratio : of "A / B"; of an operation, its share of the epoch.
    against, exponent, stderr : the cost grows with this power of what `against` names (see `lipgnn.bench.growth`).
    measures : "forward+backward", "epoch" or "process".
    model : the kind of layer, with what its heads share where they do, as in "gt collab:128".
    """

    bench: str
    graph: str | None = None
    nodes: int | None = None
    edges: int | None = None
    heads: int | None = None
    width: int | None = None
    layers: int | None = None
    norm: str | None = None
    what: str = ""
    ms: float | None = None
    peak_mb: float | None = None
    low: float | None = None
    high: float | None = None
    ratio: float | None = None
    against: str | None = None
    exponent: float | None = None
    stderr: float | None = None
    measures: str = ""
    model: str | None = None
    stack: str | None = None
    repeats: int = 0
    threads: int | None = None


COLUMNS = (*(field.name for field in fields(Measurement)), "machine", "command")


@dataclass(frozen=True)
class Report:
    """The measurements of one comparison, and a line for everything that was left out of it."""

    measurements: list[Measurement]
    left_out: list[str]


def to_rows(measurements: Iterable[Measurement], command: str) -> list[dict[str, Any]]:
    """Measurements as dictionaries of `COLUMNS`, each with the machine and the command that measures it again."""
    here = machine()
    values = ({key: _readable(value) for key, value in asdict(each).items()} for each in measurements)
    return [{**value, "machine": here, "command": command} for value in values]


def to_csv(rows: Iterable[dict[str, Any]]) -> str:
    """Rows as the text of a CSV file; a missing value is an empty cell."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({key: to_csv_text(value) if isinstance(value, str) else value for key, value in row.items()})
    return text.getvalue()


def machine() -> str:
    """Processor, cores and versions, in one line."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    processor = models[0] if models else platform.machine()
    return f"{processor}, {os.cpu_count()} cores; torch {installed_version('torch')}, dgl {installed_version('dgl')}"


def _readable(value: Any) -> Any:
    """Six digits of a number: more than any measurement has, and as many as people read."""
    return float(f"{value:.6g}") if isinstance(value, float) else value
