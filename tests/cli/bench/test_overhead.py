import json
import subprocess

import pytest

from cli.bench.overhead import PROGRAM
from lipgnn.bench.measurements import Measurement, Report


@pytest.fixture
def measured(monkeypatch):
    """An overhead measured in advance, and how it was asked for."""
    asked = []

    def bench(program, sizes, repeats, tell):
        asked.append((program, sizes, repeats))
        one = Measurement(bench="overhead", what="report of 1000 runs", ms=90.0, low=80.0, high=100.0, peak_mb=60.5)
        return Report([one], [])

    monkeypatch.setattr("lipgnn.bench.overhead.bench_overhead", bench)
    return asked


def test_for_people_it_is_a_table(invoke, measured):
    code, out, _ = invoke("bench", "overhead", "--repeats", 7, "--runs", "30,50")
    assert code == 0 and ["report", "of", "1000", "runs", "90", "80–100", "60.5"] in [
        s.split() for s in out.splitlines()
    ]
    assert measured == [(PROGRAM, (30, 50), 7)]


def test_as_json(invoke, measured):
    (row,) = json.loads(invoke("bench", "overhead", "--json")[1])
    assert (row["bench"], row["what"], row["ms"], row["peak_mb"]) == ("overhead", "report of 1000 runs", 90.0, 60.5)
    assert measured == [(PROGRAM, (1000, 10_000), 3)]


@pytest.mark.parametrize("words, code", [(["env", "--help"], 0), (["env", "--nonsense"], 2)])
def test_the_program_tells_its_memory_last_and_keeps_its_exit_code(words, code):
    done = subprocess.run([*PROGRAM, *words], capture_output=True, text=True)
    assert done.returncode == code
    assert int(done.stderr.split()[-1]) > 10 * 2**20
