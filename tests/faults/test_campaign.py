"""The campaign of faults: kills and errors by the hundred, at moments drawn by a seed, and nothing is lost.

A short form of each attack is in every run of the tests; `pytest -m campaign` runs the long one, and prints the counts.
Sweeps that are killed have their short form in test_sweep.py.
"""

import errno
import os
import random
import shutil
import signal
import time

import pytest
from campaign import finished, outcome, rows_of, wait_until, workers_in

TRAIN = ("train", "--dataset", "planted", "--layers", "2", "--hidden", "2", "--heads", "2", "--attn-dropout", "0.1")
TRAIN += ("--epochs", "24", "--patience", "0", "--schedule", "plateau", "--save-every", "3", "--json")
# Fewer epochs, for a command of which every call is made to fail.
BRIEF = (*TRAIN, "--epochs", "4", "--save-every", "2")
SWEEP = ("sweep", "--dataset", "planted", "--layers", "2", "--hidden", "2", "--heads", "2", "--seeds", "0-3")
SWEEP += ("--epochs", "40", "--patience", "0", "--save-every", "4", "--jobs", "1", "--json")

both_forms = pytest.mark.parametrize("form", ["short", pytest.param("long", marks=pytest.mark.campaign)])


def strike(launcher, folder, draw, whole, *words, **more):
    """Begin a command and kill it at one of its file events or after a while; its exit code.

    `whole` is the same command undisturbed, which had so many events and took so long.
    """
    if draw.random() < 0.5:
        return launcher.start(folder, *words, kill_at=draw.randint(1, whole.calls()), **more).wait()
    child = launcher.start(folder, *words, **more)
    time.sleep(draw.uniform(0, whole.seconds()))
    child.signal(signal.SIGKILL)
    return child.wait()


def check(tally, folder, before, code):
    """Count one kill, and results that were there before and are gone; those that are there now."""
    assert code in (0, -signal.SIGKILL)
    tally.tries += 1
    tally.hit += code != 0
    after = finished(folder)
    tally.lost += len(before - after)
    tally.doubled += len(rows_of(folder)) - len(set(rows_of(folder)))
    return after


@both_forms
def test_kills_of_train_leave_the_result_of_an_undisturbed_run(form, launcher, trained, kills, tally, tmp_path):
    counts, draw = tally(f"kill -9 of train ({form})"), random.Random(15)
    expected, whole = trained(launcher, *TRAIN)
    wanted = kills(0.5, short=3)
    while counts.wants(wanted):
        folder, there = tmp_path / "killed", set()
        for _ in range(draw.randint(2, 5)):
            there = check(counts, folder, there, strike(launcher, folder, draw, whole, *TRAIN))
            if there:
                break
        last = launcher.run(folder, *TRAIN)
        assert last.wait() == 0, last.err.read_text()
        counts.compare(folder, expected)
        shutil.rmtree(folder)
    assert counts.clean() and counts.hit >= wanted


@both_forms
def test_kills_of_a_rebuild_leave_the_old_table_or_the_new(
    form, launcher, kills, tally, result_row, write_store, tmp_path
):
    """The command prints a stored result and writes results.csv anew, from many."""
    counts, draw = tally(f"kill -9 of the rebuild of results.csv ({form})"), random.Random(16)
    write_store(tmp_path / "results", [result_row(seed=seed) for seed in range(100)])
    assert launcher.run(tmp_path, *TRAIN).wait() == 0
    table = tmp_path / "results" / "results.csv"
    new, old = table.read_bytes(), b"run_id\nstale\n"
    whole = launcher.run(tmp_path, *TRAIN)
    wanted = kills(0.15, short=3)
    while counts.wants(wanted):
        table.write_bytes(old)
        there = finished(tmp_path)
        code = strike(launcher, tmp_path, draw, whole, *TRAIN)
        check(counts, tmp_path, there, code)
        counts.different += table.read_bytes() not in ((old, new) if code else (new,))
    assert launcher.run(tmp_path, *TRAIN).wait() == 0
    counts.different += table.read_bytes() != new
    assert counts.clean() and counts.hit >= wanted


@both_forms
def test_kills_of_an_update_leave_the_old_page_or_the_new(
    form, launcher, kills, tally, result_row, write_store, tmp_path
):
    counts, draw = tally(f"kill -9 of report --update ({form})"), random.Random(17)
    write_store(
        tmp_path / "results", [result_row(seed=seed, norm=norm) for seed in range(5) for norm in ("none", "lip")]
    )
    page, update = tmp_path / "page.md", ("report", "--update", "page.md")
    old = "# Page\n\n<!-- report: lipgnn report results --format markdown -->\nstale\n<!-- end -->\n"
    page.write_text(old)
    whole = launcher.run(tmp_path, *update)
    assert whole.wait() == 0, whole.err.read_text()
    new = page.read_text()
    assert new != old
    wanted = kills(0.15, short=3)
    while counts.wants(wanted):
        page.write_text(old)
        code = strike(launcher, tmp_path, draw, whole, *update)
        check(counts, tmp_path, finished(tmp_path), code)
        counts.different += page.read_text() not in ((old, new) if code else (new,))
    assert launcher.run(tmp_path, *update).wait() == 0
    counts.different += page.read_text() != new
    assert counts.clean() and counts.hit >= wanted


@both_forms
def test_kills_of_a_fetch_leave_no_half_data_set(form, launcher, kills, tally, serve, write_ogb, zip_folder, tmp_path):
    """What is in place is whole after every kill, and the same command ends with all of it."""
    counts, draw = tally(f"kill -9 of datasets fetch ({form})"), random.Random(21)
    server = serve({"/arxiv.zip": zip_folder(write_ogb(tmp_path / "raw"), "arxiv")})
    fetch = ("datasets", "fetch", "ogbn-arxiv")

    def place(name):
        return {"LIPGNN_OGB_URL": server.url, "LIPGNN_DATA": str(tmp_path / name / "data")}

    def content(name):
        top = tmp_path / name / "data" / "ogbn_arxiv"
        return {path.relative_to(top): path.read_bytes() for path in top.rglob("*.gz")}

    whole = launcher.run(tmp_path / "whole", *fetch, variables=place("whole"))
    assert whole.wait() == 0, whole.err.read_text()
    expected, wanted = content("whole"), kills(0.1, short=3)
    while counts.wants(wanted):
        for _ in range(draw.randint(1, 3)):
            code = strike(launcher, tmp_path / "killed", draw, whole, *fetch, variables=place("killed"))
            check(counts, tmp_path / "killed", set(), code)
            counts.different += content("killed") not in (({}, expected) if code else (expected,))
        last = launcher.run(tmp_path / "killed", *fetch, variables=place("killed"))
        assert last.wait() == 0, last.err.read_text()
        counts.lost += content("killed") != expected
        shutil.rmtree(tmp_path / "killed")
    assert counts.clean() and counts.hit >= wanted


@pytest.mark.campaign
def test_kills_of_a_sweep_lose_and_double_nothing(launcher, trained, kills, tally, tmp_path):
    """Its processes end with it, and the same command does the rest."""
    counts, draw = tally("kill -9 of a sweep"), random.Random(18)
    expected, whole = trained(launcher, *SWEEP)
    wanted = kills(0.1, short=1)
    while counts.wants(wanted):
        folder, there = tmp_path / "killed", set()
        for _ in range(draw.randint(1, 3)):
            code = strike(launcher, folder, draw, whole, *SWEEP)
            wait_until(lambda folder=folder: not workers_in(folder))
            there = check(counts, folder, there, code)
        last = launcher.run(folder, *SWEEP)
        assert last.wait() == 0, last.err.read_text()
        counts.compare(folder, expected)
        shutil.rmtree(folder)
    assert counts.clean() and counts.hit >= wanted


@pytest.mark.campaign
def test_kills_of_workers_fail_one_run_each_until_it_is_retried(launcher, trained, kills, tally, tmp_path):
    counts, draw = tally("kill -9 of a worker"), random.Random(19)
    expected, _ = trained(launcher, *SWEEP)
    wanted = kills(0.1, short=1)
    while counts.wants(wanted):
        folder = tmp_path / "killed"
        sweep = launcher.start(folder, *SWEEP)
        wait_until(lambda folder=folder: workers_in(folder))
        time.sleep(draw.uniform(0, 3))
        for worker in workers_in(folder):
            os.kill(worker, signal.SIGKILL)
        code = sweep.wait()
        counts.tries, counts.hit = counts.tries + 1, counts.hit + (code == 3)
        assert code in (0, 3), sweep.err.read_text()
        there = finished(folder)
        last = launcher.run(folder, *SWEEP, "--retry", "failed")
        assert last.wait() == 0, last.err.read_text()
        counts.lost += len(there - finished(folder))
        counts.compare(folder, expected)
        shutil.rmtree(folder)
    assert counts.clean() and counts.hit >= wanted


@both_forms
def test_racers_compute_every_run_once(form, launcher, trained, kills, tally, tmp_path):
    """Eight processes at once on the same two runs."""
    counts, draw = tally(f"8 racers on two runs ({form})"), random.Random(20)
    expected = trained(launcher, *TRAIN)[0] | trained(launcher, *TRAIN, "--seed", "1")[0]
    for number in range(kills(0.05, short=1)):
        folder = tmp_path / f"race-{number}"
        seeds = draw.sample([0, 1] * 4, 8)
        racers = [launcher.start(folder, *TRAIN, "--seed", seed) for seed in seeds]
        codes = [racer.wait() for racer in racers]
        texts = [racer.err.read_text() for racer in racers]
        for code, text in zip(codes, texts, strict=True):
            assert code == (1 if "is being computed by" in text else 0), text
        counts.tries, counts.hit = counts.tries + 8, counts.hit + codes.count(1)
        # Whoever computes says so in its first line.
        counts.doubled += sum(text.startswith("Run ") and "is being computed" not in text for text in texts) - 2
        counts.compare(folder, expected)
    assert counts.clean()


def hinder(launcher, folder, expected, counts, **hindrance):
    """One command that is hindered, then the same in peace; what was wrong with what it said, if anything."""
    hindered = launcher.run(folder, *BRIEF, **hindrance)
    code, text = hindered.wait(), hindered.err.read_text()
    counts.tries, counts.hit = counts.tries + 1, counts.hit + (code != 0)
    again = launcher.run(folder, *BRIEF).wait() if code else 0
    # An error that nobody was told of has changed nothing.
    same = outcome(folder) == expected
    counts.compare(folder, expected)
    shutil.rmtree(folder)
    told = code == 0 or (code in (1, 2) and os.strerror(hindrance["error"]) in text)
    crashed = "Internal error" in text or "Traceback" in text
    return None if told and not crashed and again == 0 and same else f"{hindrance}, then {again}, {same=}: {text}"


@both_forms
@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EACCES], ids=["full disk", "no permission"])
def test_an_error_at_any_call_is_told_and_loses_nothing(form, error, launcher, trained, tally, tmp_path):
    """Every call that lipgnn.files makes of the system fails once; in the short form some of them do."""
    counts = tally(f"{os.strerror(error)} at a call of files.py ({form})")
    expected, _ = trained(launcher, *BRIEF)
    calls = launcher.run(tmp_path / "all", *BRIEF, fail_at=0, error=error).calls()
    assert calls > 100
    numbers = range(1, calls + 1) if form == "long" else random.Random(error).sample(range(1, calls + 1), 3)
    hindered = tmp_path / "hindered"
    told = [hinder(launcher, hindered, expected, counts, fail_at=number, error=error) for number in numbers]
    assert [text for text in told if text] == []
    assert counts.clean() and counts.hit
