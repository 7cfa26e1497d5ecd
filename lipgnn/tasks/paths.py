"""Paths: where a trajectory on a graph goes on, from some of its observations.

Reference: Cordonnier & Loukas, "Extrapolating paths with graph neural networks", IJCAI 2019, and their code.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lipgnn.catalog import CHOICES
from lipgnn.datasets.paths import load_paths
from lipgnn.datasets.trajectories import PathDataset
from lipgnn.tasks.task import Task


class Paths(Task):
    """The edges from the start of every window to its target, measured by the share of right choices."""

    items = "windows"
    metric = "choice-accuracy"
    scored = (CHOICES,)

    def defaults(self, dataset: str, model: str) -> dict[str, Any]:
        return {"features": "raw"}

    def load(self, name: str, *, split: str, missing: float, features: str, data_dir: Path | None) -> PathDataset:
        return load_paths(name, split=split, missing=missing, features=features, data_dir=data_dir)

    def identify(self, name: str, *, split: str, data_dir: Path | None) -> str:
        return load_paths(name, split=split, data_dir=data_dir).fingerprint
