"""Real processes, killed for real."""

import csv
import json
import os
import random
import shlex
import signal
import subprocess
import time

import pytest

RUN = [
    *("train", "--dataset", "planted", "--layers", "3", "--hidden", "2", "--heads", "2", "--attn-dropout", "0.1"),
    *("--epochs", "40", "--patience", "0", "--schedule", "plateau", "--save-every", "3", "-q", "--json"),
]
MEASURED = ("seconds", "seconds_per_epoch", "peak_memory_mb")


def begin(program, folder, *more):
    """Start the run in a folder of its own."""
    folder.mkdir(exist_ok=True)
    return subprocess.Popen(
        [*program, *RUN, *more],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        text=True,
    )


@pytest.fixture
def start(program, tmp_path):
    """Start the run below the test's folder: start("a") -> Popen."""
    return lambda folder, *more: begin(program, tmp_path / folder, *more)


def finish(process, code=0):
    out, err = process.communicate(timeout=300)
    assert process.returncode == code, err
    return out


def epochs_logged(folder):
    logs = list(folder.glob("results/runs/*/log.jsonl"))
    return logs[0].read_bytes().count(b"\n") if logs else 0


def wait_for_epoch(process, folder, epoch):
    while process.poll() is None and epochs_logged(folder) < epoch:
        time.sleep(0.002)


def outcome(folder):
    """What must not depend on interruptions: the result but for what is measured, the weights, the log."""
    (run,) = folder.glob("results/runs/*")
    result = json.loads((run / "result.json").read_text())
    log = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
    return (
        {key: value for key, value in result.items() if key not in MEASURED},
        (run / "best.safetensors").read_bytes(),
        (run / "last.safetensors").read_bytes(),
        [{key: value for key, value in record.items() if key != "seconds"} for record in log],
    )


@pytest.fixture(scope="module")
def uninterrupted(program, tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    finish(begin(program, folder))
    return outcome(folder)


def test_kill_9_at_random_epochs_then_the_same_command(start, tmp_path, uninterrupted):
    """Bit-identical result and weights, whatever was lost on the way."""
    draw = random.Random(20210307)
    for epoch in sorted(draw.sample(range(2, 38), 4)):
        process = start("killed")
        wait_for_epoch(process, tmp_path / "killed", epoch)
        process.send_signal(signal.SIGKILL)
        finish(process, -signal.SIGKILL)
        assert not list(tmp_path.glob("killed/results/runs/*/result.json"))
    finish(start("killed"))
    assert outcome(tmp_path / "killed") == uninterrupted


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_polite_signal_saves_the_epoch_and_says_how_to_go_on(start, tmp_path, uninterrupted, number):
    process = start("asked")
    wait_for_epoch(process, tmp_path / "asked", 5)
    process.send_signal(number)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 130
    assert out == ""
    assert "the state is saved" in err
    assert err.endswith(f"  {shlex.join(['lipgnn', *RUN])}\n")
    (checkpoint,) = tmp_path.glob("asked/results/runs/*/last.json")
    assert json.loads(checkpoint.read_text())["state"]["epoch"] == epochs_logged(tmp_path / "asked")
    finish(start("asked"))
    assert outcome(tmp_path / "asked") == uninterrupted


def test_two_processes_with_one_seed_give_the_same_row(start, tmp_path):
    rows = []
    for folder in ("first", "second"):
        finish(start(folder, "--seed", "3"))
        (row,) = csv.DictReader((tmp_path / folder / "results" / "results.csv").read_text().splitlines())
        rows.append({key: value for key, value in row.items() if key not in MEASURED})
    assert rows[0] == rows[1]


def test_one_run_is_computed_by_one_process_at_a_time(start, tmp_path):
    first = start("shared")
    wait_for_epoch(first, tmp_path / "shared", 1)
    second = start("shared")
    _, err = second.communicate(timeout=300)
    running = first.poll() is None
    finish(first)
    # Where the first was done before the second looked, the second prints its result.
    assert second.returncode == (1 if "is being computed by process" in err else 0)
    assert "is being computed by process" in err or not running


def test_a_full_disk_leaves_no_half_file_and_the_run_can_go_on(program, tmp_path, uninterrupted):
    """A limit on the size of files stands for a full disk: logs fit, checkpoints do not."""
    (tmp_path / "full").mkdir()
    limited = (
        "import resource, runpy, signal, sys\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4000, resource.RLIM_INFINITY))\n"
        "sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"
    )
    interpreter, script = program[0], program[-1]
    command = [interpreter, "-c", limited, script, *RUN]
    done = subprocess.run(command, cwd=tmp_path / "full", capture_output=True, text=True, timeout=300)
    assert done.returncode == 1, done.stderr
    assert "Could not write" in done.stderr and "bytes" in done.stderr and "Traceback" not in done.stderr
    names = {path.name for path in tmp_path.glob("full/results/runs/*/*")}
    assert names == {"spec.json", "log.jsonl", "failure.json"}
    again = subprocess.run(
        [*program, *RUN],
        cwd=tmp_path / "full",
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert again.returncode == 0, again.stderr
    assert outcome(tmp_path / "full") == uninterrupted
