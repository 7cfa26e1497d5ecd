"""How good predictions are, and the loss that stands for it in training.

The metric of a data set is `accuracy`, the share of right classes, or `roc-auc`, the area under the ROC curve, where every
item has several yes-or-no labels.
"""

from __future__ import annotations

import torch
from torch import nn


def loss(metric: str, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Mean cross-entropy; for `roc-auc` the binary one, over the labels that are known.

    Parameters
    ----------
    logits : (B, C).
    labels : (B,) classes, or (B, C) of 0, 1 and NaN where unknown.
    """
    if metric == "accuracy":
        return nn.functional.cross_entropy(logits, labels)
    known = ~labels.isnan()
    return nn.functional.binary_cross_entropy_with_logits(logits[known], labels[known].to(logits.dtype))


def score(metric: str, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """The metric as a number in double precision, a tensor on the device of the logits; shapes as for `loss`."""
    return accuracy(logits, labels) if metric == "accuracy" else roc_auc(logits, labels)


def accuracy(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """The share of rows whose largest logit is that of their class."""
    return (logits.argmax(dim=1) == labels).double().mean()


def roc_auc(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Area under the ROC curve, the mean over the columns that have known labels of both kinds; NaN if none has.

    The chance that a yes is ranked above a no, ties counting half: from the sum of the ranks of the P yeses among
    Q noes,

        AUC = (Σ rank − P (P + 1) / 2) / (P Q)

    Reference: Hanley & McNeil, "The Meaning and Use of the Area under a ROC Curve", Radiology 1982.
    """
    areas = torch.stack([_area(*column) for column in zip(logits.t(), labels.t(), strict=True)])
    return areas.nanmean()


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
