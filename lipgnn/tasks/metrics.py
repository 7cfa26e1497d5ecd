"""How good predictions are: the numbers of `lipgnn.catalog.METRICS`, as tensors.

Those about the order of yes and no take two forms. Labels (B, T) of 0, 1 and NaN where unknown have a logit each.
Labels (B,) that are 0 or 1 are two classes; their yes is class 1, and its score is the difference of the two logits.
"""

from __future__ import annotations

from collections.abc import Callable

import torch


def accuracy(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """The share of rows whose largest logit is that of their class."""
    return (logits.argmax(dim=1) == labels).double().mean()


def macro_f1(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """The mean of the F1 of all classes that some row has or is predicted to have.

    With n_k rows of class k, m_k predicted to be of it, and h_k of both,

        F1_k = 2 h_k / (n_k + m_k)
    """
    classes, predicted = logits.shape[1], logits.argmax(dim=1)
    hits = torch.bincount(labels[predicted == labels], minlength=classes)
    either = torch.bincount(labels, minlength=classes) + torch.bincount(predicted, minlength=classes)
    # 0 / 0 for a class that does not occur: NaN, which the mean leaves out.
    return (2 * hits.double() / either.double()).nanmean()


def roc_auc(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Area under the ROC curve, the mean over the columns that have known labels of both kinds; NaN if none has.

    It is NaN as well where a logit with a known label is: what is no number has no rank.

    The chance that a yes is ranked above a no, ties counting half: from the sum of the ranks of the P yeses among
    Q noes,

        AUC = (Σ rank − P (P + 1) / 2) / (P Q)

    Reference: Hanley & McNeil, "The Meaning and Use of the Area under a ROC Curve", Radiology 1982.
    """
    return _mean_over_columns(_area, logits, labels)


def average_precision(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Average precision, the mean over the columns that have known labels of both kinds; NaN as for `roc_auc`.

    The mean over the P yeses of the precision at the threshold that just lets them in, so that ties come in together:

        AP = 1/P Σ_{i yes} #{j yes : s_j ≥ s_i} / #{j : s_j ≥ s_i}

    which is Σ (R_n − R_{n−1}) P_n over the thresholds, without interpolation.
    """
    return _mean_over_columns(_precision, logits, labels)


def _mean_over_columns(
    measure: Callable[[torch.Tensor, torch.Tensor], torch.Tensor], logits: torch.Tensor, labels: torch.Tensor
) -> torch.Tensor:
    if labels.dim() == 1:
        # In double precision: two differences that are not equal stay so.
        scores = logits[:, 1].double() - logits[:, 0].double()
        return torch.where(scores.isnan().any(), torch.nan, measure(scores, labels == 1))
    values = []
    for scores, truth in zip(logits.t(), labels.t(), strict=True):
        known = ~truth.isnan()
        values.append(measure(scores[known].contiguous(), truth[known] == 1))
    unknown = (logits.isnan() & ~labels.isnan()).any()
    return torch.where(unknown, torch.nan, torch.stack(values).nanmean())


def _area(scores: torch.Tensor, yes: torch.Tensor) -> torch.Tensor:
    ordered = scores.sort().values
    below, upto = (torch.searchsorted(ordered, scores, right=right) for right in (False, True))
    ranks = (below + upto + 1).double() / 2
    count = yes.sum().double()
    pairs = count * (len(scores) - count)
    # 0 / 0 where one kind is missing: NaN, which the mean leaves out.
    return ((ranks * yes).sum() - count * (count + 1) / 2) / pairs


def _precision(scores: torch.Tensor, yes: torch.Tensor) -> torch.Tensor:
    let_in = len(scores) - torch.searchsorted(scores.sort().values, scores)
    of_yes = scores.masked_fill(~yes, -torch.inf).sort().values
    right = len(scores) - torch.searchsorted(of_yes, scores)
    # 0 / 0 where there is no yes: NaN. Where there is no no, there is nothing to rank.
    mean = (right.double() / let_in.double() * yes).sum() / yes.sum()
    return torch.where(yes.all(), torch.nan, mean)


SCORES = {"accuracy": accuracy, "roc-auc": roc_auc, "average-precision": average_precision, "macro-f1": macro_f1}
"""The function of every metric: logits (B, C) and labels to a number in double precision."""
