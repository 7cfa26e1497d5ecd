"""Several yes-or-no labels for a node."""

import dataclasses

import numpy as np
import torch

from lipgnn.catalog import find_task
from lipgnn.datasets import load
from lipgnn.tasks.labels import Labels
from lipgnn.tasks.metrics import roc_auc

TASK = Labels()


def test_the_loss_is_over_those_that_are_known():
    logits = torch.randn(6, 3, dtype=torch.float64)
    labels = torch.tensor([[0, 1, float("nan")]] * 6)
    p = torch.sigmoid(logits)
    expected = -torch.cat([(1 - p[:, 0]).log(), p[:, 1].log()]).mean()
    torch.testing.assert_close(TASK.loss(logits, labels), expected)


def test_the_score_is_the_area_under_the_curve():
    logits, labels = torch.randn(50, 3), torch.randint(2, (50, 3)).float()
    assert TASK.score(logits, labels).item() == roc_auc(logits, labels).item()
    assert (TASK.metric, TASK.has_classes) == ("roc-auc", False)


def test_data_with_several_labels_says_that_it_is_of_this_task():
    planted = load("planted")
    several = np.zeros((planted.num_nodes, 2), dtype=np.float32)
    data = dataclasses.replace(planted, source=dataclasses.replace(planted.source, labels=several))
    assert type(find_task(data.task)) is Labels
