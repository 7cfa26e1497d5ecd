"""Runs on several processes, killed for real."""

import json
import os
import random
import signal
import sys
from pathlib import Path

import pytest
from campaign import wait_until

sys.path.insert(0, str(Path(__file__).parent))
from test_kill import epochs_logged, finish, outcome, wait_for_epoch

RUN = [
    *("train", "--dataset", "planted", "--batch-size", "16", "--fanout", "3", "--layers", "2", "--hidden", "2"),
    *("--heads", "2", "--epochs", "16", "--patience", "0", "--save-every", "3", "--compress", "topk:0.1"),
    *("--optimizer", "sgd", "--workers", "2", "-q", "--json"),
]


@pytest.fixture
def start(launcher, tmp_path):
    return lambda folder, *more: launcher.start(tmp_path / folder, *RUN, *more)


@pytest.fixture(scope="module")
def uninterrupted(launcher, tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    finish(launcher.start(folder, *RUN))
    return outcome(folder)


def children_of(pid):
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def is_gone(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def test_whoever_is_killed_all_end_and_the_same_command_goes_on(start, tmp_path, uninterrupted):
    """The other worker, then worker 0, each at a random epoch; then the other one is asked politely.

    In the end no bit differs from an uninterrupted run.
    """
    draw = random.Random(2018)
    for who, number, code in (
        ("worker", signal.SIGKILL, 1),
        ("leader", signal.SIGKILL, -signal.SIGKILL),
        ("worker", signal.SIGTERM, 130),
    ):
        process = start("killed")
        before = epochs_logged(tmp_path / "killed")
        wait_for_epoch(process, tmp_path / "killed", before + draw.randint(2, 4))
        (child,) = children_of(process.pid)
        os.kill(child if who == "worker" else process.pid, number)
        finish(process, code)
        wait_until(lambda child=child: is_gone(child), 10)
        assert not list(tmp_path.glob("killed/results/runs/*/result.json"))
        err = process.err.read_text()
        assert "Traceback" not in err
        if code == 1:
            assert f"Worker 1 (process {child}) was killed by signal 9 (SIGKILL)" in err
            assert "The same command goes on from there." in err
            (note,) = tmp_path.glob("killed/results/runs/*/failure.json")
            assert "was killed" in json.loads(note.read_text())["reason"]
    assert "the state is saved" in err
    (checkpoint,) = tmp_path.glob("killed/results/runs/*/last.json")
    assert json.loads(checkpoint.read_text())["state"]["epoch"] == epochs_logged(tmp_path / "killed")
    finish(start("killed"))
    assert outcome(tmp_path / "killed") == uninterrupted
