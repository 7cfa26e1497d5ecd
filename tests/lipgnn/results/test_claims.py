import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict, replace

import pytest

from lipgnn.errors import RunFailed
from lipgnn.results import claims
from lipgnn.results.claims import Claim, Held, Holder

QUICK = {"beat_seconds": 0.05, "expiry_seconds": 0.2}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "claim"


@pytest.fixture
def elsewhere(path):
    """A claim as a process of another machine leaves it."""

    def write(beat=0, age=0.0):
        holder = Holder(host="far-away", pid=1, place="there", started="7", nonce="n")
        path.write_bytes(holder.at_beat(beat))
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


def test_a_claim_that_this_process_could_not_remove_does_not_stand_in_its_way(path):
    with Claim(path, "Run x"):
        left = path.read_bytes()
    path.write_bytes(left)
    with Claim(path, "Run x"):
        assert path.read_bytes() != left


def test_a_process_number_used_again_is_not_taken_for_the_holder(path):
    path.write_bytes(replace(Holder.myself(), started="long ago").at_beat(0))
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


def with_values(**values):
    return json.dumps(asdict(Holder.myself()) | values)


@pytest.mark.parametrize(
    "content",
    [
        *("", "{", "[]", "7", '{"host": "x"}', "[" * 5000, with_values(pid="1"), with_values(pid=True)),
        *(with_values(pid=1.5), with_values(host=[]), with_values(more=1), with_values(place=None), "\0" * 200),
    ],
)
def test_a_damaged_claim_binds_nobody(path, content):
    path.write_text(content)
    with Claim(path, "Run x", **QUICK):
        assert json.loads(path.read_text())["pid"] == os.getpid()


@pytest.mark.parametrize("make", [lambda path: path.symlink_to("/dev/zero"), os.mkfifo], ids=["link", "pipe"])
def test_what_is_no_file_in_its_place_is_removed_and_holds_nobody_up(path, make):
    make(path)
    with Claim(path, "Run x", **QUICK):
        assert path.is_file() and not path.is_symlink()


def test_a_folder_in_its_place_is_told(path):
    path.mkdir()
    with pytest.raises(RunFailed, match=r"Could not remove .*claim': Is a directory"):
        Claim(path, "Run x", **QUICK).__enter__()


@pytest.mark.parametrize("age", [-3600, -(10**8)], ids=["an hour", "years"])
def test_a_dead_claim_dated_in_the_future_is_taken_over_as_any_other(path, elsewhere, age):
    elsewhere(age=age)
    with Claim(path, "Run x", **QUICK):
        assert json.loads(path.read_text())["pid"] == os.getpid()


def test_a_live_claim_dated_in_the_future_is_respected(path, elsewhere, monkeypatch):
    elsewhere(age=-3600)
    real = time.sleep
    monkeypatch.setattr(time, "sleep", lambda seconds: (elsewhere(beat=1, age=-3600), real(seconds)))
    with pytest.raises(Held):
        Claim(path, "Run x", **QUICK).__enter__()


def test_the_same_process_number_in_another_container_says_nothing(path):
    """One host name, one process number and one time of start, but another space of process numbers."""
    me = Holder.myself()
    other = replace(me, place=me.place + " other", started="long ago", nonce="n")
    path.write_bytes(other.at_beat(3))
    with pytest.raises(Held):
        Claim(path, "Run x", **QUICK).__enter__()


@pytest.mark.parametrize("place", ["", "elsewhere"])
def test_a_holder_that_cannot_be_seen_from_here_is_never_taken_for_ended(place):
    assert not replace(Holder.myself(), place=place, pid=2**22 + 1).is_gone()


def test_where_proc_is_of_another_space_of_process_numbers_there_is_no_place(monkeypatch):
    assert Holder.myself().place
    monkeypatch.setattr(os, "getpid", lambda: 1)
    assert Holder.myself().place == ""


def test_a_process_hidden_from_us_is_not_taken_for_ended(monkeypatch):
    """/proc may hide the processes of other users."""
    me = replace(Holder.myself(), pid=os.getppid())
    monkeypatch.setattr(claims, "_state_and_start", lambda process: ("", ""))
    assert not me.is_gone()
    monkeypatch.setattr(os, "kill", lambda pid, number: (_ for _ in ()).throw(PermissionError()))
    assert not me.is_gone()
    monkeypatch.setattr(os, "kill", lambda pid, number: (_ for _ in ()).throw(ProcessLookupError()))
    assert me.is_gone()


def test_a_holder_is_told_that_its_claim_is_anothers(path, elsewhere):
    with Claim(path, "Run x", beat_seconds=60) as claim:
        claim.check()
        elsewhere()
        with pytest.raises(Held, match="Run x was taken over by process 1 on far-away") as caught:
            claim.check()
        assert caught.value.exit_code == 1
    assert json.loads(path.read_text())["host"] == "far-away"


def test_the_late_beat_of_a_holder_that_was_stopped_leaves_the_claim_of_its_successor_alone(path, monkeypatch):
    """The worst moment: the file is open and found to be its own, and then it is another's."""
    mine = Claim(path, "Run x", beat_seconds=60)
    pwrite = os.pwrite

    def stopped(*arguments):
        path.unlink()
        path.write_bytes(b"the successor's")
        return pwrite(*arguments)

    with mine:
        monkeypatch.setattr(os, "pwrite", stopped)
        mine._write_beat(1)
        assert path.read_bytes() == b"the successor's"
        path.unlink()


def test_beats_are_written_in_place_and_have_one_length():
    me = Holder.myself()
    assert len({len(me.at_beat(number)) for number in (0, 9, 10, 10**7)}) == 1


def test_a_claim_without_a_live_holder_is_abandoned(path, elsewhere):
    assert claims.is_abandoned(path, 60)
    elsewhere(age=30)
    assert not claims.is_abandoned(path, 60)
    assert claims.is_abandoned(path, 10)
    with path.open("wb") as file:
        file.write(replace(Holder.myself(), started="long ago").at_beat(0))
    assert claims.is_abandoned(path, 60)
