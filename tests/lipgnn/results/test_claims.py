import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict, replace

import pytest

from lipgnn.results.claims import Claim, Held, Holder

QUICK = {"beat_seconds": 0.05, "expiry_seconds": 0.2}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "claim"


@pytest.fixture
def elsewhere(path):
    """A claim as a process of another machine leaves it."""

    def write(beat=0, age=0.0):
        holder = Holder(host="far-away", pid=1, started="7", nonce="n", beat=beat)
        path.write_text(json.dumps(asdict(holder)))
        os.utime(path, (time.time() - age, time.time() - age))

    return write


def test_it_lasts_as_long_as_its_context(path):
    with Claim(path, "Run x", **QUICK):
        assert path.exists()
    assert not path.exists()


def test_who_holds_it_is_told(path):
    with Claim(path, "Run x"), pytest.raises(Held, match=f"Run x is being computed by process {os.getpid()} on "):
        Claim(path, "Run x").__enter__()


def test_it_beats(path):
    with Claim(path, "Run x", **QUICK):
        beats = set()
        deadline = time.monotonic() + 10
        while len(beats) < 3 and time.monotonic() < deadline:
            beats.add(json.loads(path.read_text())["beat"])
        assert len(beats) >= 3


def test_a_killed_process_of_this_machine_is_succeeded_at_once(path):
    code = "import sys, time; from pathlib import Path; from lipgnn.results.claims import Claim\n"
    code += "Claim(Path(sys.argv[1]), 'Run x').__enter__(); print('held', flush=True); time.sleep(60)"
    process = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"held\n"
    with pytest.raises(Held):
        Claim(path, "Run x").__enter__()
    process.send_signal(signal.SIGKILL)
    process.communicate()
    with Claim(path, "Run x"):
        pass


def test_a_process_number_used_again_is_not_taken_for_the_holder(path):
    path.write_text(json.dumps(asdict(replace(Holder.myself(), started="long ago"))))
    with Claim(path, "Run x"):
        pass


def test_a_live_claim_of_another_machine_is_respected(path, elsewhere):
    elsewhere(age=0)
    with pytest.raises(Held, match="on far-away"):
        Claim(path, "Run x", **QUICK).__enter__()


def test_a_claim_of_another_machine_whose_heart_has_stopped_is_taken_over(path, elsewhere):
    elsewhere(age=3600)
    with Claim(path, "Run x", **QUICK):
        assert json.loads(path.read_text())["pid"] == os.getpid()


def test_a_clock_that_jumps_does_not_kill_a_claim_that_still_beats(path, elsewhere, monkeypatch):
    """By its time the file is an hour old, but while it is watched a beat comes."""
    elsewhere(age=3600)
    pauses = iter([lambda: elsewhere(beat=1, age=3600)])
    real = time.sleep

    def sleep(seconds):
        next(pauses, lambda: None)()
        real(seconds)

    monkeypatch.setattr(time, "sleep", sleep)
    with pytest.raises(Held):
        Claim(path, "Run x", **QUICK).__enter__()


@pytest.mark.parametrize("content", ["", "{", "[]", '{"host": "x"}'])
def test_a_damaged_claim_binds_nobody(path, content):
    path.write_text(content)
    with Claim(path, "Run x"):
        pass


def test_a_claim_that_was_taken_over_is_not_removed_by_its_old_holder(path, elsewhere):
    with Claim(path, "Run x", beat_seconds=60):
        elsewhere()
    assert json.loads(path.read_text())["host"] == "far-away"
