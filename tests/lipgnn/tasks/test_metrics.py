"""Metrics against OGB's evaluator and against counting."""

import warnings

import pytest
import torch

from lipgnn.catalog import METRICS
from lipgnn.tasks import metrics


@pytest.fixture(scope="module")
def evaluator():
    with warnings.catch_warnings():
        # OGB's own imports warn about what they use.
        warnings.simplefilter("ignore")
        from ogb.nodeproppred import Evaluator
    return Evaluator


def test_accuracy_is_that_of_ogb(evaluator):
    logits, labels = torch.randn(200, 40), torch.randint(40, (200,))
    theirs = evaluator("ogbn-arxiv").eval({"y_true": labels[:, None], "y_pred": logits.argmax(1, keepdim=True)})
    assert metrics.SCORES["accuracy"](logits, labels).item() == pytest.approx(theirs["acc"])


def test_roc_auc_is_that_of_ogb(evaluator):
    # Rounded, so that there are ties; two tasks of one kind alone, which are left out.
    logits, labels = torch.randn(150, 112).round(decimals=1), torch.randint(2, (150, 112)).float()
    labels[:, 3], labels[:, 7] = 0, 1
    theirs = evaluator("ogbn-proteins").eval({"y_true": labels, "y_pred": logits})
    assert metrics.SCORES["roc-auc"](logits, labels).item() == pytest.approx(theirs["rocauc"])


def test_roc_auc_is_the_share_of_pairs_in_the_right_order():
    logits, labels = torch.randn(40, 3).round(decimals=1), torch.randint(2, (40, 3)).float()
    labels[torch.rand(40, 3) < 0.3] = float("nan")
    areas = []
    for scores, truth in zip(logits.t().tolist(), labels.t().tolist(), strict=True):
        yes = [s for s, y in zip(scores, truth, strict=True) if y == 1]
        no = [s for s, y in zip(scores, truth, strict=True) if y == 0]
        areas.append(sum((a > b) + (a == b) / 2 for a in yes for b in no) / (len(yes) * len(no)))
    assert metrics.roc_auc(logits, labels).item() == pytest.approx(sum(areas) / 3)


def test_roc_auc_without_two_kinds_is_not_a_number():
    assert metrics.roc_auc(torch.randn(5, 2), torch.ones(5, 2)).isnan()


def test_every_metric_of_the_catalog_has_its_function():
    assert metrics.SCORES.keys() == METRICS.keys()
    assert all(entry.words and entry.description for entry in METRICS.values())


def test_roc_auc_of_what_is_no_number_is_none():
    logits, labels = torch.randn(20, 2), torch.randint(2, (20, 2)).float()
    labels[0, 0] = float("nan")
    logits[0, 0] = float("nan")
    # Nobody asked about the first node.
    assert 0 <= metrics.roc_auc(logits, labels) <= 1
    logits[1, 1] = float("nan")
    assert metrics.roc_auc(logits, labels).isnan()
    assert metrics.roc_auc(torch.full((20, 2), float("nan")), labels).isnan()
