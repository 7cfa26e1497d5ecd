"""How good predictions are: the numbers of `lipgnn.catalog.METRICS`, as tensors."""

from __future__ import annotations

import torch


def accuracy(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """The share of rows whose largest logit is that of their class."""
    return (logits.argmax(dim=1) == labels).double().mean()


def roc_auc(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Area under the ROC curve, the mean over the columns that have known labels of both kinds; NaN if none has.

    It is NaN as well where a logit with a known label is: what is no number has no rank.

    The chance that a yes is ranked above a no, ties counting half: from the sum of the ranks of the P yeses among
    Q noes,

        AUC = (Σ rank − P (P + 1) / 2) / (P Q)

    Reference: Hanley & McNeil, "The Meaning and Use of the Area under a ROC Curve", Radiology 1982.
    """
    areas = torch.stack([_area(*column) for column in zip(logits.t(), labels.t(), strict=True)])
    unknown = (logits.isnan() & ~labels.isnan()).any()
    return torch.where(unknown, torch.nan, areas.nanmean())


def _area(scores: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    known = ~labels.isnan()
    scores, yes = scores[known].contiguous(), labels[known] == 1
    ordered = scores.sort().values
    below, upto = (torch.searchsorted(ordered, scores, right=right) for right in (False, True))
    ranks = (below + upto + 1).double() / 2
    count = yes.sum().double()
    pairs = count * (len(scores) - count)
    # 0 / 0 where one kind is missing: NaN, which the mean leaves out.
    return (ranks[yes].sum() - count * (count + 1) / 2) / pairs


SCORES = {"accuracy": accuracy, "roc-auc": roc_auc}
"""The function of every metric: logits (B, C) and labels to a number in double precision."""
