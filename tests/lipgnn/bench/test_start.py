import subprocess
import sys

import pytest

from lipgnn.bench import start
from lipgnn.bench.start import bench_start, commands


def test_what_is_started_is_what_it_says():
    named = {candidate.what: words for candidate, words in commands(["lipgnn-program"]).items()}
    assert named["lipgnn train --help"] == ["lipgnn-program", "train", "--help"]
    assert named["import torch"][-1] == "import torch"
    assert list(named) == [
        "python",
        "import lipgnn",
        "import torch",
        "import dgl",
        "lipgnn --help",
        "lipgnn train --help",
        "lipgnn report --help",
    ]


def test_every_command_is_timed_as_a_process(monkeypatch):
    monkeypatch.setattr(start, "IMPORTS", ("lipgnn", "json"))
    report = bench_start([sys.executable, "-c", ""], 1, lambda text: None)
    times = [row for row in report.rows if row.ratio is None]
    assert len(times) == 6 and all(row.ms > 1 and row.measures == "process" for row in times)
    assert [row.what for row in report.rows if row.ratio] == ["lipgnn --help / python"]


def test_a_command_that_fails_is_not_taken_for_a_measurement(monkeypatch):
    monkeypatch.setattr(start, "IMPORTS", ())
    with pytest.raises(subprocess.CalledProcessError):
        bench_start([sys.executable, "-c", "raise SystemExit(1)"], 1, lambda text: None)
