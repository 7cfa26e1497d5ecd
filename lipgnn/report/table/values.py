"""What the numbers of a run are: how they are called, in which unit they are shown, and which way is better."""

from __future__ import annotations

from collections.abc import Collection

from lipgnn.catalog import MEASURES, METRICS
from lipgnn.results.columns import SCORES, VALUES

# What a table can show beside VALUES, of runs that recorded their similarity, or how far they look (see
# `lipgnn.report.recorded`).
GROWTH = "log10_growth"
DISTANCE = "mean_distance"
SHOWN = (*VALUES, GROWTH, DISTANCE)


def is_score(value: str) -> bool:
    """Whether it is the metric of a run, a fraction that is shown in percent."""
    return value in SCORES


def higher_is_better(value: str, metric: str) -> bool:
    """Scores have the direction of their metric, measures their own; losses, times and sizes should be low."""
    if value in MEASURES:
        return MEASURES[value].higher_is_better
    return is_score(value) and (metric not in METRICS or METRICS[metric].higher_is_better)


def in_percent(value: str) -> bool:
    """Whether it is a share, which is shown in percent: a score, and some of the measures."""
    return is_score(value) or (value in MEASURES and MEASURES[value].fraction)


def scale_of(value: str) -> float:
    """The factor from a number as stored to the number as shown."""
    return 100.0 if in_percent(value) else 1.0


def metric_words(metrics: Collection[str]) -> str:
    """Metrics as people say them."""
    return ", ".join(METRICS[metric].words if metric in METRICS else metric for metric in metrics)


def words_of(value: str, metrics: Collection[str]) -> str:
    """A value as people say it: a score is called by its metric, where all runs have the same one.

    Parameters
    ----------
    metrics : those of the runs shown.
    """
    words = {"val": "validation"}
    if is_score(value) and len(metrics) == 1:
        words["score"] = metric_words(metrics)
    return " ".join(words.get(word, word) for word in value.split("_"))


def heading_of(value: str, metrics: Collection[str]) -> str:
    """What stands above numbers: a score in words, anything else by the name that --value takes."""
    return words_of(value, metrics) if is_score(value) else value
