"""Real processes that want one run: in containers, stopped and continued, and with folders that are traps."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

RUN = [
    *("train", "--dataset", "planted", "--layers", "2", "--hidden", "2", "--heads", "2", "--patience", "0"),
    *("--epochs", "400", "--save-every", "5", "-q", "--json"),
]
USUAL = "import sys; import lipgnn.results.claims as claims; from cli.main import run; {}sys.exit(run(sys.argv[1:]))"
# Claims that beat and expire so fast that a test can wait for it. Not for holders that must keep theirs: on a busy
# machine one may be silent for so long.
QUICK = USUAL.format("claims.BEAT_SECONDS, claims.EXPIRY_SECONDS = 0.1, 0.6; ")
CONTAINER = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount-proc"]


@pytest.fixture
def start(tmp_path):
    """Start the run in the test's folder, in a container of its own if asked for; ended with the test."""
    started = []

    def run(within=None):
        code = QUICK if within is None else USUAL.format("")
        process = subprocess.Popen(
            [*(within or ()), sys.executable, "-c", code, *RUN],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            text=True,
        )
        started.append(process)
        return process

    yield run
    for process in started:
        process.kill()
        process.communicate()


def log_of(folder):
    logs = list(folder.glob("results/runs/*/log.jsonl"))
    return [json.loads(line)["epoch"] for line in logs[0].read_text().splitlines()] if logs else []


def wait_until(condition, seconds=240):
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert condition()


def finish(process, code=0):
    out, err = process.communicate(timeout=300)
    assert process.returncode == code, err
    return out, err


def check_one_whole_run(folder):
    """One log line an epoch, in order, and a result."""
    assert log_of(folder) == list(range(1, 401))
    (result,) = folder.glob("results/runs/*/result.json")
    assert json.loads(result.read_text())["epochs_run"] == 400
    assert not list(folder.glob("results/runs/*/.tmp-*")) and not list(folder.glob("results/runs/*/claim"))


def test_two_containers_of_one_host_name_do_not_steal_from_each_other(start, tmp_path):
    """Each has a space of process numbers of its own, in which the other's process is not to be found."""
    if not shutil.which("unshare") or subprocess.run([*CONTAINER, "true"], capture_output=True).returncode:
        pytest.skip("this system lets nobody make spaces of process numbers")
    first = start(within=CONTAINER)
    wait_until(lambda: log_of(tmp_path))
    for within in (CONTAINER, ()):
        second = start(within=within)
        _, err = second.communicate(timeout=300)
        # Where the first was done before the second looked, the second prints its result.
        assert second.returncode == (1 if "is being computed by process" in err else 0), err
    finish(first)
    check_one_whole_run(tmp_path)


def test_a_holder_that_was_stopped_and_succeeded_ends_without_a_further_write(start, tmp_path):
    old = start()
    wait_until(lambda: len(log_of(tmp_path)) > 20)
    old.send_signal(signal.SIGSTOP)
    try:
        new = start()
        # Taken over: the log was rewound to the checkpoint, and goes on.
        claim = next(tmp_path.glob("results/runs/*/claim"))
        wait_until(lambda: claim.exists() and json.loads(claim.read_text() or "{}").get("pid") == new.pid)
    finally:
        old.send_signal(signal.SIGCONT)
    _, err = finish(old, 1)
    assert f"was taken over by process {new.pid}" in err and "nothing more is written" in err
    finish(new)
    check_one_whole_run(tmp_path)
    assert not list(tmp_path.glob("results/runs/*/failure.json"))


def test_a_dead_claim_dated_in_the_future_does_not_hold_the_run(start, tmp_path):
    first = start()
    wait_until(lambda: log_of(tmp_path))
    first.kill()
    first.communicate()
    claim = next(tmp_path.glob("results/runs/*/claim"))
    # As another machine leaves it, which then dies while its clock is a year ahead.
    claim.write_text(json.dumps(json.loads(claim.read_text()) | {"place": "another machine"}))
    os.utime(claim, (time.time() + 3e7,) * 2)
    finish(start())
    check_one_whole_run(tmp_path)


def test_force_removes_nothing_outside_the_store(invoke, tmp_path):
    """The folder of the run is a link to one that is dear to its owner."""
    small = [*RUN, "--epochs", "2"]
    run_id = json.loads(invoke(*small)[1])["run_id"]
    folder = tmp_path / "results" / "runs" / run_id
    dear = tmp_path / "dear"
    folder.rename(dear)
    (dear / "thesis.tex").write_text("years of work")
    before = sorted(path.name for path in dear.iterdir())
    folder.symlink_to(dear)
    for command in (small, [*small, "--force"]):
        code, _, err = invoke(*command)
        assert code == 4 and "is a link" in err
    assert sorted(path.name for path in dear.iterdir()) == before


@pytest.mark.parametrize("run_id", ["../../../dear", "/dear", "ab", "AB0000000000", "", 7, None, ["ab"], "a" * 300])
def test_an_id_in_a_foreign_file_leads_nowhere(invoke, tmp_path, run_id, result_row, write_store):
    row = result_row()
    folder = write_store(tmp_path / "results", [row]) / "runs" / row["run_id"]
    (folder / "result.json").write_text(json.dumps({"schema": 1, **row, "run_id": run_id}))
    code, out, err = invoke("report")
    assert (code, out) == (4, ""), err


@pytest.mark.parametrize("run_id", ["../../dear", "/dear", "ab", "AB0000000000", "a" * 300])
def test_an_id_in_a_foreign_table_leads_nowhere(invoke, tmp_path, run_id, result_row):
    from lipgnn.results.store import to_csv

    (tmp_path / "r.csv").write_bytes(to_csv([result_row() | {"run_id": run_id}]))
    code, _, err = invoke("report", "r.csv")
    assert code == 4 and "column 'run_id'" in err


def test_a_network_too_large_is_a_sentence_with_its_size_and_a_note(invoke, tmp_path):
    code, _, err = invoke("train", "--dataset", "planted", "--hidden", "100000")
    assert code == 1 and "GB" in err and "weights" in err and "Internal" not in err
    (note,) = tmp_path.glob("results/runs/*/failure.json")
    assert "GB" in json.loads(note.read_text())["reason"]
