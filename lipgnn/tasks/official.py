"""The score by OGB's own evaluator: the number that the leaderboards of its data sets count."""

from __future__ import annotations

import contextlib
import functools
import sys
import warnings
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import torch

from lipgnn.catalog import DATASETS, OgbEntry, split_direction

if TYPE_CHECKING:
    from ogb.nodeproppred import Evaluator


Part = tuple[torch.Tensor, torch.Tensor]


def official_scores(dataset: str, parts: Mapping[str, Part]) -> dict[str, float | None] | None:
    """What OGB's evaluator says of predictions; None for data sets of others.

    Parameters
    ----------
    dataset : a name of the catalog, with or without `:undirected`.
    parts : for every part of the split its logits, (B, C), and its labels: (B,) classes, or (B, C) of 0, 1 and NaN
        where unknown.

    Returns
    -------
    for every part the accuracy or ROC-AUC as OGB computes it; None where a part is empty, or no label has both kinds.
    """
    name, _ = split_direction(dataset)
    if not isinstance(DATASETS.get(name), OgbEntry):
        return None
    evaluator = _evaluator(name)
    return {part: _score(evaluator, *both) if len(both[1]) else None for part, both in parts.items()}


def _score(evaluator: Evaluator, logits: torch.Tensor, labels: torch.Tensor) -> float | None:
    if evaluator.eval_metric == "acc":
        logits, labels = logits.argmax(dim=1, keepdim=True), labels.unsqueeze(1)
    try:
        return float(evaluator.eval({"y_true": labels, "y_pred": logits})[evaluator.eval_metric])
    except RuntimeError:
        # It refuses labels that are all of one kind.
        return None


@functools.cache
def _evaluator(name: str) -> Evaluator:
    # Here, because it takes seconds and only OGB's data sets need it.
    with _at_home(), warnings.catch_warnings():
        # What OGB imports beside its evaluator warns of matters that are not ours.
        warnings.simplefilter("ignore")
        from ogb.nodeproppred import Evaluator
    return Evaluator(name)


@contextlib.contextmanager
def _at_home() -> Iterator[None]:
    """OGB asks the network for newer versions of itself where it can import `outdated`; here it cannot."""
    earlier = sys.modules.get("outdated")
    sys.modules["outdated"] = None
    try:
        yield
    finally:
        del sys.modules["outdated"]
        if earlier is not None:
            sys.modules["outdated"] = earlier
