"""A disk that is full, or refuses, at every write there is; and file systems without hard links."""

import errno
import json
import os
import subprocess

import pytest

from lipgnn.errors import LipgnnError, RunFailed, UsageError
from lipgnn.results.store import Store
from lipgnn.training.loop import train

MEASURED = ("seconds", "seconds_per_epoch", "peak_memory_mb")
# What reaches the disk, of os; a write of a checkpoint or of a result is synced, a log line is written.
CALLS = [
    *(("fsync", errno.ENOSPC), ("write", errno.ENOSPC), ("replace", errno.ENOSPC)),
    *(("link", errno.EACCES), ("unlink", errno.EACCES)),
]


def compute(spec, dataset, store):
    """The result of a run without what is measured."""
    *_, finished = train(spec, dataset, store, save_every=1)
    return {name: value for name, value in finished.result.items() if name not in MEASURED}


@pytest.fixture
def spec(small_spec):
    return small_spec.with_values(epochs=2)


@pytest.mark.parametrize("call, code", CALLS)
def test_at_every_write_there_is_one_sentence_and_the_run_can_go_on(spec, load_for, tmp_path, monkeypatch, call, code):
    """The n-th call fails, for every n; then the same run comes to the result of an undisturbed one."""
    dataset = load_for(spec)
    whole = compute(spec, dataset, Store(tmp_path / "whole"))
    real, deadly, count = getattr(os, call), 0, 0

    def failing(*arguments, **options):
        nonlocal count
        count += 1
        if count == deadly:
            raise OSError(code, os.strerror(code))
        return real(*arguments, **options)

    while True:
        deadly, count = deadly + 1, 0
        store = Store(tmp_path / f"{deadly}")
        with monkeypatch.context() as patch:
            patch.setattr(os, call, failing)
            try:
                assert compute(spec, dataset, store) == whole
            except LipgnnError as error:
                assert isinstance(error, (RunFailed, UsageError)), error
                assert os.strerror(code) in error.message and str(store.root) in error.message
        if count < deadly:
            break
        assert compute(spec, dataset, store) == whole
        assert not list(store.root.rglob("claim"))
        assert call == "unlink" or not list(store.root.rglob(".tmp-*"))
    assert deadly > 2


def test_a_full_disk_at_the_log_is_a_sentence_a_note_and_exit_1(program, tmp_path):
    limited = (
        "import resource, runpy, signal, sys\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (3000, resource.RLIM_INFINITY))\n"
        "sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"
    )
    run = ["train", "--dataset", "planted", "--layers", "2", "--hidden", "2", "--heads", "2", "--save-every", "1000"]
    command = [program[0], "-c", limited, program[-1], *run]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 1, done.stderr
    assert "log.jsonl' (" in done.stderr and "bytes): File too large" in done.stderr
    (folder,) = tmp_path.glob("results/runs/*")
    assert "log.jsonl" in json.loads((folder / "failure.json").read_text())["reason"]
    # No half line is left.
    assert (folder / "log.jsonl").read_bytes().endswith(b"}\n")


def test_a_run_is_computed_and_computed_once_without_hard_links(spec, load_for, tmp_path, monkeypatch):
    whole = compute(spec, load_for(spec), Store(tmp_path / "whole"))

    def link(*_arguments):
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", link)
    store = Store(tmp_path / "without")
    assert compute(spec, load_for(spec), store) == whole
    first = store.run(whole["run_id"]).result_path.read_bytes()
    store.run(whole["run_id"]).finish({"test_score": 0})
    assert store.run(whole["run_id"]).result_path.read_bytes() == first
