import csv
import io

import pytest

from cli.extrapolate_view import COLUMNS, MOST_NODES, MOST_ROWS, show, to_csv


def path(nodes, **values):
    return {"nodes": nodes, "start_probability": 0.5, "log_probability": -1.0, "probability": 0.37, **values}


def found(**values):
    return {
        "model": "best.safetensors",
        "dataset": "roads",
        "fingerprint": "f" * 16,
        "walk": "nb",
        "steps": 1,
        "origin": "the list of nodes",
        "prefix": [[{"node": 3, "weight": 1.0}], [{"node": 4, "weight": 0.3}, {"node": 5, "weight": 0.7}]],
        "reached": 12,
        "ends": [{"node": 6, "probability": 0.25}],
        "samples": [],
        "likelihoods": [],
        "truth": None,
        **values,
    }


def test_a_summary_and_the_ends(capsys):
    show(found())
    out = capsys.readouterr().out
    for words in ("roads", "3 → 5 (+1)", "1 step, without turning back; 12 nodes can be reached", "0.25"):
        assert words in out
    assert "drawn" not in out and "Likelihood" not in out and "target" not in out


def test_what_was_drawn_twice_is_one_row(capsys):
    samples = [path([5, 6], edges=[1]), path([5, 7], edges=[2]), path([5, 7], edges=[2])]
    show(found(samples=samples))
    lines = capsys.readouterr().out.splitlines()
    rows = [line.split() for line in lines if line.rstrip().endswith((" 5 6", " 5 7"))]
    assert [(row[0], row[-1]) for row in rows] == [("2", "7"), ("1", "6")]


def test_long_lists_are_cut_and_say_so(capsys):
    show(found(likelihoods=[path([5, node]) for node in range(MOST_ROWS + 3)]))
    assert "3 more are left out; --json and --csv have them." in capsys.readouterr().out
    show(found(likelihoods=[path(list(range(MOST_NODES + 5)))]))
    assert "0 1 2 3 4 5 … 5 more … 11 12 13 14 15 16" in capsys.readouterr().out


def test_a_walker_that_stays_is_one_word(capsys):
    show(found(likelihoods=[path([5, 6, 6, 6], log_probability=None, probability=0.0)]))
    out = capsys.readouterr().out
    assert "5 6 (×3)" in out and "–" in out


@pytest.mark.parametrize("log, words", [(-2.5, "log-likelihood -2.5"), (None, "no walker takes it")])
def test_the_truth_is_in_the_summary(capsys, log, words):
    truth = path([5, 6], edges=[1], target=[{"node": 6, "weight": 1.0}], target_probability=0.25)
    show(found(truth={**truth, "log_probability": log}))
    out = capsys.readouterr().out
    assert words in out and "probability 0.25 in all" in out and "yes" in out


def test_csv_has_the_columns_whatever_there_is():
    text = to_csv(found(samples=[path([5, 6, 6], edges=[1, None])]))
    rows = list(csv.DictReader(io.StringIO(text)))
    assert tuple(rows[0]) == COLUMNS
    assert rows[1] == dict(zip(COLUMNS, ("sample", "", "5 6 6", "1 -", "0.5", "0.37", "-1.0"), strict=True))
