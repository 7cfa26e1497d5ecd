"""The campaign of faults against claims: holders that are stopped, dead or elsewhere, and clocks that are wrong."""

import os
import shutil
import signal
import socket
import subprocess
import time

import pytest
from campaign import wait_until

TRAIN = ("train", "--dataset", "planted", "--layers", "2", "--hidden", "2", "--heads", "2", "--attn-dropout", "0.1")
TRAIN += ("--patience", "0", "--save-every", "20", "--json", "--epochs")
DAY = 86_400
HELD = "is being computed by"


def date_claim(folder, seconds):
    """Let the claim seem so many seconds younger than it is."""
    (claim,) = folder.glob("results/runs/*/claim")
    os.utime(claim, (time.time() + seconds,) * 2)
    return claim


def begin(launcher, folder, words):
    """A run with ten epochs behind it."""
    holder = launcher.start(folder, *words)
    wait_until(lambda: any(log.read_bytes().count(b"\n") >= 10 for log in folder.glob("results/runs/*/log.jsonl")))
    return holder


def refused(launcher, folder, words):
    other = launcher.run(folder, *words)
    return other.wait() == 1 and HELD in other.err.read_text()


def until_it_gets_in(launcher, folder, words, seconds=240):
    """Give the same command again until the run is not held any more; its exit code."""
    deadline = time.monotonic() + seconds
    while refused(launcher, folder, words):
        assert time.monotonic() < deadline, "held for ever"
        time.sleep(2)
    return launcher.run(folder, *words).wait()


@pytest.mark.parametrize("dated", [0, DAY], ids=["now", "in the future"])
def test_a_holder_that_was_stopped_for_a_while_keeps_its_run(dated, launcher, trained, tally, tmp_path):
    counts, words = tally(f"holder stopped and continued, clock {dated // DAY} days ahead"), (*TRAIN, 150)
    expected, _ = trained(launcher, *words)
    holder = begin(launcher, tmp_path, words)
    holder.signal(signal.SIGSTOP)
    date_claim(tmp_path, dated)
    counts.tries, counts.hit = 1, int(refused(launcher, tmp_path, words))
    holder.signal(signal.SIGCONT)
    assert holder.wait() == 0, holder.err.read_text()
    counts.compare(tmp_path, expected)
    assert counts.clean() and counts.hit


@pytest.mark.campaign
def test_a_clock_that_is_behind_ends_no_live_run(launcher, trained, tally, tmp_path):
    counts, words = tally("live holder, clock a day behind"), (*TRAIN, 4000)
    expected, _ = trained(launcher, *words)
    holder = begin(launcher, tmp_path, words)
    date_claim(tmp_path, -DAY)
    counts.tries, counts.hit = 1, int(refused(launcher, tmp_path, words))
    assert holder.wait() == 0, holder.err.read_text()
    counts.compare(tmp_path, expected)
    assert counts.clean()


@pytest.mark.campaign
def test_a_holder_that_lost_its_run_while_it_was_stopped_does_no_harm(launcher, trained, tally, tmp_path):
    """Stopped for so long that it is taken for dead; another computes the run, and then it is continued."""
    counts, words = tally("holder stopped, succeeded and continued"), (*TRAIN, 1000)
    expected, _ = trained(launcher, *words)
    holder = begin(launcher, tmp_path, words)
    holder.signal(signal.SIGSTOP)
    date_claim(tmp_path, -DAY)
    assert until_it_gets_in(launcher, tmp_path, words) == 0
    counts.tries, counts.hit = 1, 1
    counts.compare(tmp_path, expected)
    holder.signal(signal.SIGCONT)
    assert holder.wait() in (0, 1)
    counts.compare(tmp_path, expected)
    assert counts.clean()


@pytest.mark.campaign
@pytest.mark.parametrize("dated", [-DAY, DAY], ids=["in the past", "in the future"])
def test_a_dead_holder_of_another_machine_is_succeeded_whatever_its_date(dated, launcher, trained, tally, tmp_path):
    counts, words = tally(f"dead holder elsewhere, clock {dated // DAY} days ahead"), (*TRAIN, 150)
    expected, _ = trained(launcher, *words)
    holder = begin(launcher, tmp_path, words)
    holder.signal(signal.SIGKILL)
    holder.wait()
    claim = date_claim(tmp_path, dated)
    claim.write_text(claim.read_text().replace(socket.gethostname(), "elsewhere"))
    date_claim(tmp_path, dated)
    assert until_it_gets_in(launcher, tmp_path, words) == 0
    counts.tries, counts.hit = 1, 1
    counts.compare(tmp_path, expected)
    assert counts.clean()


@pytest.mark.campaign
def test_a_holder_in_another_namespace_of_processes_keeps_its_run(program, launcher, trained, tally, tmp_path):
    """Two containers of one host name that share a folder: neither sees the processes of the other."""
    apart = [shutil.which("unshare"), "--pid", "--fork", "--mount-proc"]
    if not apart[0] or subprocess.run([*apart, "true"], capture_output=True).returncode:
        pytest.skip("namespaces of processes are not allowed here")
    counts, words = tally("live holder in another namespace"), (*TRAIN, 4000)
    expected, _ = trained(launcher, *words)
    holder = begin(launcher, tmp_path, words)
    command = [*apart, *program, *map(str, words)]
    other = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert holder.wait() == 0, holder.err.read_text()
    assert other.returncode == (1 if HELD in other.stderr else 0), other.stderr
    counts.tries, counts.hit = 1, int(other.returncode)
    counts.compare(tmp_path, expected)
    assert counts.clean()
