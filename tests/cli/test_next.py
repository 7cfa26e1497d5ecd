"""The commands that are suggested at the end of others can be typed as they stand."""

import shlex
import sys

import pytest

SMALL = ("--dataset", "planted", "--hidden", 2, "--heads", 2, "--layers", 2, "--epochs", 2)


def suggested(err):
    """The words of every command below `Next:`."""
    lines = err.partition("Next:\n")[2].splitlines()
    assert lines, err
    return [shlex.split(line)[1:] for line in lines if line.startswith("  lipgnn ")]


@pytest.mark.parametrize(
    "words",
    [
        ("train", *SMALL),
        ("sweep", *SMALL, "--norm", "none,lip", "--jobs", 1, "-q"),
        ("report", "--rows", "norm"),
        ("diagnose", "--init", *SMALL[:-2]),
        ("runs",),
        ("runs", "show", "first"),
        ("datasets", "list"),
        ("predict", "first", "-o", "classes.csv"),
        ("export", "first", "-o", "folder"),
    ],
    ids=lambda words: " ".join(map(str, words[:2])),
)
def test_what_is_suggested_works(invoke, monkeypatch, words):
    assert invoke("train", *SMALL, "--name", "first")[0] == 0
    monkeypatch.setattr(sys, "argv", ["lipgnn", *map(str, words)])
    code, _, err = invoke(*words)
    assert code == 0, err
    for next_words in suggested(err):
        if next_words[:2] == ["datasets", "fetch"]:
            # It would download.
            continue
        code, _, err = invoke(*next_words)
        assert code == 0, (next_words, err)
