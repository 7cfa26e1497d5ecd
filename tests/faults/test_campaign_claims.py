"""The campaign of faults against claims: holders that are stopped, dead or elsewhere, and clocks that are wrong."""

import os
import shutil
import signal
import subprocess
import time

import pytest
from campaign import wait_until

TRAIN = ("train", "--dataset", "planted", "--layers", "2", "--hidden", "2", "--heads", "2", "--attn-dropout", "0.1")
TRAIN += ("--patience", "0", "--save-every", "20", "--json", "--epochs")
DAY = 86_400
QUIET = subprocess.DEVNULL
HELD = "is being computed by"


def date_claim(folder, seconds):
    """Let the claim seem so many seconds younger than it is."""
    (claim,) = folder.glob("results/runs/*/claim")
    os.utime(claim, (time.time() + seconds,) * 2)
    return claim


def epochs_in(folder):
    return max((log.read_bytes().count(b"\n") for log in folder.glob("results/runs/*/log.jsonl")), default=0)


def begin(launcher, folder, words):
    """A run with ten epochs behind it."""
    holder = launcher.start(folder, *words)
    wait_until(lambda: epochs_in(folder) >= 10)
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


def test_a_holder_that_was_stopped_for_a_moment_keeps_its_run(launcher, trained, tally, tmp_path):
    counts, words = tally("holder stopped for a moment"), (*TRAIN, 150)
    expected, _ = trained(launcher, *words)
    holder = begin(launcher, tmp_path, words)
    holder.signal(signal.SIGSTOP)
    counts.tries, counts.hit = 1, int(refused(launcher, tmp_path, words))
    holder.signal(signal.SIGCONT)
    assert holder.wait() == 0, holder.err.read_text()
    counts.compare(tmp_path, expected)
    assert counts.clean() and counts.hit


@pytest.mark.campaign
@pytest.mark.parametrize("days", [-1, 1])
def test_a_wrong_clock_ends_no_live_run(days, launcher, trained, tally, tmp_path):
    """The claim seems a day old, or of tomorrow, while its holder computes."""
    counts, words = tally(f"live holder, clock {days:+} day"), (*TRAIN, 4000)
    expected, _ = trained(launcher, *words)
    holder = begin(launcher, tmp_path, words)
    date_claim(tmp_path, days * DAY)
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


@pytest.fixture
def apart():
    """Words that run a command among processes of its own, as in another container of the same host name."""
    words = [shutil.which("unshare"), "--pid", "--fork", "--mount-proc", "--kill-child"]
    if not words[0] or subprocess.run([*words, "true"], capture_output=True).returncode:
        pytest.skip("namespaces of processes are not allowed here")
    return words


@pytest.mark.campaign
@pytest.mark.parametrize("days", [-1, 0, 1])
def test_a_dead_holder_in_another_container_is_succeeded(days, apart, program, launcher, trained, tally, tmp_path):
    """Whatever the date of its claim."""
    counts, words = tally(f"dead holder in another container, clock {days:+} days"), (*TRAIN, 4000)
    expected, _ = trained(launcher, *words)
    with subprocess.Popen([*apart, *program, *map(str, words)], cwd=tmp_path, stdout=QUIET, stderr=QUIET) as holder:
        wait_until(lambda: epochs_in(tmp_path) >= 10)
        holder.kill()
    date_claim(tmp_path, days * DAY)
    assert until_it_gets_in(launcher, tmp_path, words) == 0
    counts.tries, counts.hit = 1, 1
    counts.compare(tmp_path, expected)
    assert counts.clean()


@pytest.mark.campaign
def test_a_live_holder_in_another_container_keeps_its_run(apart, program, launcher, trained, tally, tmp_path):
    """Neither sees the processes of the other."""
    counts, words = tally("live holder in another container"), (*TRAIN, 4000)
    expected, _ = trained(launcher, *words)
    holder = begin(launcher, tmp_path, words)
    command = [*apart, *program, *map(str, words)]
    other = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert holder.wait() == 0, holder.err.read_text()
    assert other.returncode == (1 if HELD in other.stderr else 0), other.stderr
    counts.tries, counts.hit = 1, int(other.returncode)
    counts.compare(tmp_path, expected)
    assert counts.clean()
