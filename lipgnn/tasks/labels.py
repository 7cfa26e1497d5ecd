"""Several yes-or-no labels for every node, some of which may be unknown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lipgnn.catalog import ORDER
from lipgnn.tasks.nodes import Nodes

if TYPE_CHECKING:
    import torch


class Labels(Nodes):
    """T yes-or-no labels for every node, measured by ROC-AUC; the loss is the binary cross-entropy of the known ones.

    Labels are (B, T) of 0, 1 and NaN where unknown. Data and batches are those of node classification.
    """

    metric = "roc-auc"
    scored = (ORDER,)
    has_classes = False
    uncertified = "A certificate is about which of several classes a node has, and these nodes have yes-or-no labels."

    def check_predictable(self) -> None:
        """Labels can be predicted, though they are no classes."""

    def probabilities(self, logits: torch.Tensor) -> torch.Tensor:
        return logits.sigmoid()

    def loss(self, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        from torch import nn

        known = ~labels.isnan()
        return nn.functional.binary_cross_entropy_with_logits(logits[known], labels[known].to(logits.dtype))

    def weight(self, labels: torch.Tensor) -> torch.Tensor:
        """Known labels count."""
        return (~labels.isnan()).sum().double()
