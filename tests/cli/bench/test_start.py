import json

import pytest

from lipgnn.bench.rows import Report, Row


@pytest.fixture
def measured(monkeypatch):
    """A start measured in advance, and how it was asked for."""
    asked = []

    def bench(program, repeats, tell):
        asked.append((program[-1], repeats))
        row = Row(bench="start", what="lipgnn --help", ms=90.0, low=80.0, high=100.0, repeats=repeats)
        return Report([row], [])

    monkeypatch.setattr("lipgnn.bench.start.bench_start", bench)
    return asked


def test_start_as_a_table(invoke, measured):
    code, out, _ = invoke("bench", "start", "--repeats", 7)
    assert code == 0 and "80–100" in out and "medians of 7" in out
    assert measured == [("from cli.main import main; main()", 7)]


def test_start_as_json(invoke, measured):
    (row,) = json.loads(invoke("bench", "start", "--json")[1])
    assert (row["bench"], row["what"], row["ms"], row["repeats"]) == ("start", "lipgnn --help", 90.0, 5)
