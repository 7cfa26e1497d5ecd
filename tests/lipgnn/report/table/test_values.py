import pytest

from lipgnn.catalog import MEASURES, METRICS, MetricEntry
from lipgnn.report.table.values import SHOWN, heading_of, higher_is_better, metric_words, scale_of, words_of


def test_scores_and_shares_alone_are_better_high_and_shown_in_percent():
    scores = {"train_score", "val_score", "test_score", "last_test_score"}
    scores |= {name for name, entry in MEASURES.items() if entry.fraction}
    for metric in ("accuracy", "roc-auc", "a metric of its own"):
        assert {value for value in SHOWN if higher_is_better(value, metric)} == scores
    assert {value for value in SHOWN if scale_of(value) == 100} == scores
    assert {scale_of(value) for value in SHOWN} == {1, 100}


@pytest.mark.parametrize("metric", METRICS)
def test_a_score_is_called_by_its_metric(metric):
    assert words_of("test_score", [metric]) == heading_of("test_score", [metric]) == f"test {METRICS[metric].words}"
    assert words_of("val_score", [metric]) == f"validation {METRICS[metric].words}"


def test_a_score_has_the_direction_of_its_metric(monkeypatch):
    monkeypatch.setitem(METRICS, "error", MetricEntry("the share of wrong ones", words="error", higher_is_better=False))
    assert not any(higher_is_better(value, "error") for value in SHOWN if value not in MEASURES)
    assert words_of("test_score", ["error"]) == "test error"


def test_scores_of_several_metrics_are_called_scores():
    assert words_of("last_test_score", ["accuracy", "roc-auc"]) == "last test score"
    assert metric_words(["accuracy", "roc-auc", "own"]) == "accuracy, ROC-AUC, own"


def test_above_numbers_other_values_have_the_name_that_the_option_takes():
    assert (words_of("val_loss", ["accuracy"]), heading_of("val_loss", ["accuracy"])) == ("validation loss", "val_loss")
