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
    """The other worker, then worker 0, each at a random epoch; in the end no bit differs from an uninterrupted run."""
    draw = random.Random(2018)
    for who, epoch in (("worker", draw.randint(4, 7)), ("leader", draw.randint(10, 13))):
        process = start("killed")
        wait_for_epoch(process, tmp_path / "killed", epoch)
        children = children_of(process.pid)
        assert len(children) == 1
        os.kill(children[0] if who == "worker" else process.pid, signal.SIGKILL)
        finish(process, 1 if who == "worker" else -signal.SIGKILL)
        wait_until(lambda children=children: all(map(is_gone, children)), 10)
        if who == "worker":
            err = process.err.read_text()
            assert f"Worker 1 (process {children[0]}) was killed by signal 9 (SIGKILL)" in err
            assert "The same command goes on from there." in err and "Traceback" not in err
            (note,) = tmp_path.glob("killed/results/runs/*/failure.json")
            assert "was killed" in json.loads(note.read_text())["reason"]
        assert not list(tmp_path.glob("killed/results/runs/*/result.json"))
    finish(start("killed"))
    assert outcome(tmp_path / "killed") == uninterrupted


@pytest.mark.parametrize("whom", ["leader", "worker"])
def test_a_polite_signal_to_either_saves_the_epoch_of_both(start, tmp_path, uninterrupted, whom):
    process = start("asked")
    wait_for_epoch(process, tmp_path / "asked", 5)
    (child,) = children_of(process.pid)
    os.kill(process.pid if whom == "leader" else child, signal.SIGTERM)
    finish(process, 130)
    assert is_gone(child)
    assert "the state is saved" in process.err.read_text()
    (checkpoint,) = tmp_path.glob("asked/results/runs/*/last.json")
    assert json.loads(checkpoint.read_text())["state"]["epoch"] == epochs_logged(tmp_path / "asked")
    if whom == "worker":
        finish(start("asked"))
        assert outcome(tmp_path / "asked") == uninterrupted
