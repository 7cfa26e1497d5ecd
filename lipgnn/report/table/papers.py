"""Numbers that papers have published, as data: papers.csv beside this file says where each was read."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

from lipgnn.catalog import task_of

# Values of ours that a published one may stand beside.
_SAME = {"test_score": ("test_score", "last_test_score")}


@dataclass(frozen=True)
class PaperNumber:
    """One number of a paper.

    Attributes
    ----------
    paper, table : where it stands.
    dataset, missing, model, norm, value : what it is of, in the words of a run.
    mean, std : as fractions where it is a score; std is None where the paper has none.
    depth : the number of layers; None where it was chosen by validation and is not stated.
    source : how it was read and what differs from a run of ours.
    residual : the residual connection, where the number is of that one and no other.
    metric : what a score is.
    """

    paper: str
    table: str
    dataset: str
    missing: float
    model: str
    norm: str
    value: str
    mean: float
    std: float | None
    depth: int | None
    source: str
    residual: str | None = None
    metric: str = "accuracy"

    def matches(self, value: str, spec: Mapping[str, Any]) -> bool:
        """Whether this is the number for a cell of runs with these options; depth counts where it is fixed.

        A test score is one at whichever epoch it was taken, and `trees:5:250` is `trees:5` scaled down.
        """
        names = ("missing", "model", "norm", *(("residual",) if self.residual else ()))
        same = all(spec.get(name) == getattr(self, name) for name in names)
        same &= spec.get("metric", self.metric) == self.metric
        data = spec.get("dataset") == self.dataset or self.scaled_down(spec)
        return same and data and value in _SAME.get(self.value, (self.value,)) and self._has_depth_of(spec)

    def scaled_down(self, spec: Mapping[str, Any]) -> bool:
        """Whether the data of the runs is a smaller form of what the paper has."""
        return task_of(self.dataset).is_smaller(str(spec.get("dataset")), self.dataset)

    def _has_depth_of(self, spec: Mapping[str, Any]) -> bool:
        # Where ours is chosen as well, the cell does not say which it is.
        return spec.get("layers", self.depth) == self.depth


def read_papers() -> list[PaperNumber]:
    """All numbers of papers that ship."""
    text = resources.files("lipgnn.report.table").joinpath("papers.csv").read_text(encoding="utf-8")
    return [
        PaperNumber(
            **{
                **row,
                "missing": float(row["missing"]),
                "mean": float(row["mean"]),
                "std": float(row["std"]) if row["std"] else None,
                "depth": int(row["depth"]) if row["depth"] else None,
                "residual": row["residual"] or None,
            }
        )
        for row in csv.DictReader(text.splitlines())
    ]
