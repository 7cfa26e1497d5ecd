"""Real processes, killed for real."""

import json
import os
import random
import shlex
import signal
import subprocess

import pytest
from campaign import wait_until

RUN = [
    *("train", "--dataset", "planted", "--layers", "3", "--hidden", "2", "--heads", "2", "--attn-dropout", "0.1"),
    *("--epochs", "40", "--patience", "0", "--schedule", "plateau", "--save-every", "3", "-q", "--json"),
]
MEASURED = ("seconds", "seconds_per_epoch", "peak_memory_mb")


@pytest.fixture
def start(launcher, tmp_path):
    """Start the run below the test's folder: start("a") -> Child."""
    return lambda folder, *more: launcher.start(tmp_path / folder, *RUN, *more)


def finish(child, code=0):
    assert child.wait() == code, child.err.read_text()


def epochs_logged(folder):
    logs = list(folder.glob("results/runs/*/log.jsonl"))
    return logs[0].read_bytes().count(b"\n") if logs else 0


def wait_for_epoch(child, folder, epoch):
    wait_until(lambda: child.ended() or epochs_logged(folder) >= epoch)


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
    """By a process that was started as users do; the others are forked from one that has imported everything."""
    folder = tmp_path_factory.mktemp("whole")
    one_thread = {**os.environ, "OMP_NUM_THREADS": "1"}
    subprocess.run([*program, *RUN], cwd=folder, check=True, capture_output=True, env=one_thread)
    return outcome(folder)


def test_kill_9_at_random_epochs_then_the_same_command(start, tmp_path, uninterrupted):
    """Bit-identical result and weights, whatever was lost on the way."""
    draw = random.Random(20210307)
    for epoch in sorted(draw.sample(range(2, 38), 4)):
        process = start("killed")
        wait_for_epoch(process, tmp_path / "killed", epoch)
        process.signal(signal.SIGKILL)
        finish(process, -signal.SIGKILL)
        assert not list(tmp_path.glob("killed/results/runs/*/result.json"))
    finish(start("killed"))
    assert outcome(tmp_path / "killed") == uninterrupted


PATHS = [
    *("train", "--dataset", "planar:200", "--model", "diffusion", "--layers", "3", "--transitions", "learned"),
    *("--epochs", "8", "--save-every", "2", "-q", "--json"),
]

IMAGES = [
    *("train", "--dataset", "digits:4", "--split", "random:0:20:10", "--layers", "1", "--hidden", "4", "--heads", "2"),
    *("--layer-dropout", "0.1", "--epochs", "8", "--save-every", "2", "-q", "--json"),
]


@pytest.mark.parametrize("run", [PATHS, IMAGES], ids=["paths", "images"])
def test_other_tasks_go_on_after_kill_9_as_if_nothing_had_been(launcher, tmp_path, run):
    finish(launcher.start(tmp_path / "whole", *run))
    for epoch in (3, 6):
        process = launcher.start(tmp_path / "killed", *run)
        wait_for_epoch(process, tmp_path / "killed", epoch)
        process.signal(signal.SIGKILL)
        finish(process, -signal.SIGKILL)
    finish(launcher.start(tmp_path / "killed", *run))
    assert outcome(tmp_path / "killed") == outcome(tmp_path / "whole")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_polite_signal_saves_the_epoch_and_says_how_to_go_on(start, tmp_path, uninterrupted, number):
    process = start("asked")
    wait_for_epoch(process, tmp_path / "asked", 5)
    process.signal(number)
    finish(process, 130)
    out, err = process.out.read_text(), process.err.read_text()
    assert out == ""
    assert "the state is saved" in err
    assert err.endswith(f"  {shlex.join(['lipgnn', *RUN])}\n")
    (checkpoint,) = tmp_path.glob("asked/results/runs/*/last.json")
    assert json.loads(checkpoint.read_text())["state"]["epoch"] == epochs_logged(tmp_path / "asked")
    finish(start("asked"))
    assert outcome(tmp_path / "asked") == uninterrupted


def test_two_processes_with_one_seed_give_the_same_row(start, tmp_path, uninterrupted):
    finish(start("other"))
    assert outcome(tmp_path / "other") == uninterrupted


def test_one_run_is_computed_by_one_process_at_a_time(start, tmp_path):
    first = start("shared")
    wait_for_epoch(first, tmp_path / "shared", 1)
    first.signal(signal.SIGSTOP)
    second = start("shared")
    code, err, running = second.wait(), second.err.read_text(), not first.ended()
    first.signal(signal.SIGCONT)
    finish(first)
    # Where the first was done before the second looked, the second prints its result.
    assert code == (1 if running else 0), err
    assert ("is being computed by process" in err) == running


def test_a_full_disk_leaves_no_half_file_and_the_run_can_go_on(program, start, tmp_path, uninterrupted):
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
    finish(start("full"))
    assert outcome(tmp_path / "full") == uninterrupted
