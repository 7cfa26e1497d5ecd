"""Metrics against OGB's evaluator and against counting."""

import warnings

import pytest
import torch

from lipgnn.catalog import CHOICES, METRICS
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
    # A walker's choices are scored by their own task.
    assert metrics.SCORES.keys() == {name for name, entry in METRICS.items() if entry.about != CHOICES}
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


@pytest.mark.parametrize("name", ["roc-auc", "average-precision"])
@pytest.mark.parametrize("seed", range(4))
def test_the_order_of_two_classes_is_measured_as_by_scikit_learn(name, seed):
    from sklearn.metrics import average_precision_score, roc_auc_score

    torch.manual_seed(seed)
    # Rounded, so that there are ties.
    logits, labels = torch.randn(80, 2).round(decimals=1), (torch.rand(80) < 0.3).long()
    theirs = {"roc-auc": roc_auc_score, "average-precision": average_precision_score}[name]
    expected = theirs(labels, logits[:, 1].double() - logits[:, 0].double())
    assert metrics.SCORES[name](logits, labels).item() == pytest.approx(expected, abs=1e-12)
    probability = theirs(labels, logits.double().softmax(dim=1)[:, 1].round(decimals=12))
    assert metrics.SCORES[name](logits, labels).item() == pytest.approx(probability, abs=1e-9)


@pytest.mark.parametrize("name", ["roc-auc", "average-precision"])
def test_all_scores_alike_are_worth_what_scikit_learn_says(name):
    from sklearn.metrics import average_precision_score, roc_auc_score

    labels = torch.tensor([0, 1, 1, 0, 0])
    theirs = {"roc-auc": roc_auc_score, "average-precision": average_precision_score}[name]
    assert metrics.SCORES[name](torch.zeros(5, 2), labels).item() == pytest.approx(theirs(labels, torch.zeros(5)))


def test_average_precision_of_several_labels_leaves_out_what_is_unknown():
    from sklearn.metrics import average_precision_score

    logits, labels = torch.randn(60, 3).round(decimals=1), torch.randint(2, (60, 3)).float()
    labels[torch.rand(60, 3) < 0.3] = float("nan")
    # One kind alone: in no mean, where scikit-learn warns and says 0 or 1.
    logits, labels = torch.cat([logits, torch.randn(60, 2)], 1), torch.cat([labels, torch.ones(60, 2)], 1)
    labels[:, 4] = 0
    known = ~labels.isnan()
    expected = [average_precision_score(labels[known[:, k], k], logits[known[:, k], k]) for k in range(3)]
    assert metrics.average_precision(logits, labels).item() == pytest.approx(sum(expected) / 3)


@pytest.mark.parametrize("name", ["roc-auc", "average-precision"])
@pytest.mark.parametrize("label", [0, 1])
def test_one_class_alone_has_no_order(name, label):
    assert metrics.SCORES[name](torch.randn(5, 2), torch.full((5,), label)).isnan()


@pytest.mark.parametrize("seed", range(4))
def test_macro_f1_is_that_of_scikit_learn(seed):
    from sklearn.metrics import f1_score

    torch.manual_seed(seed)
    # Classes 5 and 6 occur nowhere, 4 in predictions alone and 0 in labels alone.
    logits, labels = torch.randn(60, 7), torch.randint(4, (60,))
    logits[:, [0, 5, 6]] = -9
    expected = f1_score(labels, logits.argmax(1), average="macro")
    assert metrics.macro_f1(logits, labels).item() == pytest.approx(expected)
