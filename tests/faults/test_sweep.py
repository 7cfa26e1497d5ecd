"""Sweeps killed, raced and interrupted for real: nothing lost, nothing doubled."""

import csv
import json
import os
import signal
import subprocess

import pytest
from campaign import wait_until, workers_in

from lipgnn.results.store import Store

SEEDS = 4
GRID = ["sweep", "--dataset", "planted", "--hidden", "2", "--heads", "2", "--layers", "2", "--patience", "0"]
GRID += ["--seeds", f"0-{SEEDS - 1}", "--epochs", "60", "--save-every", "4", "--threads", "1", "--json"]
MEASURED = ("seconds", "seconds_per_epoch", "peak_memory_mb")


@pytest.fixture
def start(launcher, tmp_path):
    """Begin the sweep in the test's folder: start("--jobs", 2) -> Child."""
    return lambda *more: launcher.start(tmp_path, *GRID, *more)


@pytest.fixture(scope="module")
def undisturbed(launcher, tmp_path_factory):
    """The rows of a sweep that nothing happened to, without what is measured."""
    folder = tmp_path_factory.mktemp("undisturbed")
    finish(launcher.start(folder, *GRID, "--jobs", "2"))
    return rows(folder)


def rows(folder):
    text = (folder / "results" / "results.csv").read_text()
    return [{k: v for k, v in row.items() if k not in MEASURED} for row in csv.DictReader(text.splitlines())]


def finish(child, code=0):
    """The summary of a sweep that ended with this code, if it has one."""
    assert child.wait() == code, child.err.read_text()
    out = child.out.read_text()
    return json.loads(out) if out else None


def results_in(folder):
    return len(list(folder.glob("results/runs/*/result.json")))


def under_way(folder):
    """Runs with an epoch behind them and no result yet."""
    logs = folder.glob("results/runs/*/log.jsonl")
    return [log for log in logs if log.stat().st_size and not log.with_name("result.json").exists()]


def test_kill_9_of_the_parent_twice(start, tmp_path, undisturbed):
    """Finished runs are kept, workers do not outlive the sweep, and the same command does the rest."""
    for target in (1, 2):
        process = start("--jobs", "2")
        wait_until(lambda wanted=target: results_in(tmp_path) >= wanted)
        process.signal(signal.SIGKILL)
        finish(process, -signal.SIGKILL)
        wait_until(lambda: workers_in(tmp_path) == [])
    before = results_in(tmp_path)
    summary = finish(start("--jobs", "2"))
    assert summary["ran"] == SEEDS - before
    assert rows(tmp_path) == undisturbed


def test_kill_9_of_a_worker_loses_one_run_until_it_is_retried(start, tmp_path, undisturbed):
    process = start("--jobs", "1")
    wait_until(lambda: results_in(tmp_path) >= 1 and under_way(tmp_path))
    (worker,) = workers_in(tmp_path)
    os.kill(worker, signal.SIGKILL)
    summary = finish(process, 3)
    assert (summary["failed"], summary["done"]) == (1, SEEDS - 1)
    assert finish(start("--retry", "failed"))["ran"] == 1
    assert rows(tmp_path) == undisturbed


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_polite_signal_saves_what_runs_and_prints_the_command(start, tmp_path, undisturbed, number):
    process = start("--jobs", "2")
    wait_until(lambda: results_in(tmp_path) >= 1)
    os.killpg(process.pid, number) if number == signal.SIGINT else process.signal(number)
    summary = finish(process, 130)
    assert workers_in(tmp_path) == []
    assert summary["ran"] < SEEDS
    finish(start("--jobs", "2"))
    assert rows(tmp_path) == undisturbed


def test_eight_sweeps_on_one_store_compute_every_run_once(start, tmp_path, undisturbed):
    racers = [start("--jobs", "1", "--shuffle") for _ in range(8)]
    summaries = [finish(racer) for racer in racers]
    assert sum(summary["ran"] for summary in summaries) == SEEDS
    assert all(summary["done"] == SEEDS and summary["failed"] == 0 for summary in summaries)
    assert rows(tmp_path) == undisturbed
    assert not list(tmp_path.rglob("claim"))


def test_out_of_memory_ends_one_run(program, tmp_path):
    """A limit on memory that a wide network breaks and a narrow one does not."""
    limited = (
        "import resource, runpy, sys\n"
        "sys.argv = sys.argv[1:]\n"
        "import lipgnn.child as child\n"
        "real = child.subprocess.Popen\n"
        "limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (6 * 2**30, 6 * 2**30))\n"
        "child.subprocess.Popen = lambda *a, **k: real(*a, preexec_fn=limit, **k)\n"
        "runpy.run_path(sys.argv[0], run_name='__main__')"
    )
    grid = ["sweep", "--dataset", "planted", "--layers", "2", "--heads", "1", "--hidden", "4,40000", "--epochs", "2"]
    command = [program[0], "-c", limited, program[-1], *grid, "--jobs", "1", "--json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 3, done.stderr
    summary = json.loads(done.stdout)
    assert (summary["ran"], summary["failed"]) == (1, 1)
    assert "memory" in done.stderr
    assert [row["hidden"] for row in Store(tmp_path / "results").results()] == [4]


def test_a_device_that_is_not_here_is_told_once_with_exit_5(program, tmp_path):
    done = subprocess.run(
        [*program, *GRID, "--device", "cuda"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "CUDA_VISIBLE_DEVICES": ""},
    )
    assert done.returncode == 5, done.stderr
    assert done.stderr.count("Device 'cuda' was asked for") == 1
    assert (done.stdout, results_in(tmp_path)) == ("", 0)
    assert not list(tmp_path.glob("results/runs/*"))


def test_one_grid_with_one_thread_a_run_and_with_two_is_reported_together(program, tmp_path):
    """Sums over 2708 nodes are rounded in another order by two threads; the runs are the same ones."""
    grid = ["sweep", "--dataset", "cora", "--layers", "2", "--hidden", "2", "--heads", "2", "--epochs", "5", "-q"]
    for threads in ("1", "2"):
        where = ["--jobs", "1", "--threads", threads, "--results", f"t{threads}"]
        subprocess.run([*program, *grid, *where], cwd=tmp_path, check=True, capture_output=True)
    stored = {threads: Store(tmp_path / f"t{threads}").results()[0] for threads in (1, 2)}
    assert {threads: row["threads"] for threads, row in stored.items()} == {1: 1, 2: 2}
    assert stored[1]["run_id"] == stored[2]["run_id"]
    done = subprocess.run([*program, "report", "t1", "t2", "--json"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert [cell["n"] for cell in json.loads(done.stdout)["cells"]] == [1]
    assert "Rows that repeat a run and were left out: 1." in done.stderr
