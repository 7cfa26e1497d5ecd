"""Which epoch is the better one, by every rule and in either direction of a metric."""

import dataclasses

import pytest

from lipgnn.catalog import METRICS, MetricEntry
from lipgnn.training.selection import LEAST_GAIN, Epoch, is_better

ACCURACY = METRICS["accuracy"]
ERROR = MetricEntry("the share of wrong ones", words="error", higher_is_better=False, perfect=0.0)
EPOCH = Epoch(1, 0.5, 0.5, 0.5, 0.5, 0.5, 1.0, 0.1, 1, 0.1)


def changed(**values):
    return dataclasses.replace(EPOCH, **values)


@pytest.mark.parametrize("metric, sign", [(ACCURACY, 1), (ERROR, -1)])
@pytest.mark.parametrize("select", ["val_score", "train_score"])
def test_a_score_is_better_in_the_direction_of_its_metric(metric, sign, select):
    assert is_better(changed(**{select: 0.5 + 0.1 * sign}), EPOCH, select, metric)
    assert not is_better(changed(**{select: 0.5 - 0.1 * sign}), EPOCH, select, metric)
    assert not is_better(EPOCH, EPOCH, select, metric)


@pytest.mark.parametrize("metric", [ACCURACY, ERROR])
def test_a_loss_is_better_low_whatever_the_metric(metric):
    assert is_better(changed(val_loss=0.4), EPOCH, "val_loss", metric)
    assert not is_better(changed(val_loss=0.6, val_score=0.9), EPOCH, "val_loss", metric)


def test_the_other_number_of_validation_breaks_ties():
    assert is_better(changed(val_loss=0.4), EPOCH, "val_score", ACCURACY)
    assert is_better(changed(val_score=0.6), EPOCH, "val_loss", ACCURACY)
    assert is_better(changed(val_score=0.4), EPOCH, "val_loss", ERROR)


def test_test_scores_choose_nothing():
    for select in ("val_score", "val_loss", "train_score"):
        assert not is_better(changed(test_score=1.0), EPOCH, select, ACCURACY)


@pytest.mark.parametrize("metric, sign, perfect", [(ACCURACY, 1, 1.0), (ERROR, -1, 0.0)])
def test_of_training_scores_small_gains_do_not_count_but_the_last_one_does(metric, sign, perfect):
    assert not is_better(changed(train_score=0.5 + sign * LEAST_GAIN / 2), EPOCH, "train_score", metric)
    nearly = changed(train_score=perfect - sign * LEAST_GAIN / 2)
    assert is_better(changed(train_score=perfect), nearly, "train_score", metric)
    assert not is_better(changed(train_score=perfect), changed(train_score=perfect), "train_score", metric)


def test_the_last_is_the_best_by_last():
    assert is_better(changed(val_loss=9.0, val_score=0.0, train_score=0.0), EPOCH, "last", ACCURACY)
