import numpy as np
import pytest

from lipgnn.bench.peak import peak_in_child, peak_of
from lipgnn.errors import RunFailed


def test_what_a_step_takes_and_gives_back_is_counted():
    def step():
        np.ones(50 * 2**17)  # 50 MB, gone at once
        return np.ones(20 * 2**17)

    # The system counts in batches of pages.
    assert 48 < peak_of(step) < 65


def test_what_was_taken_before_is_not():
    np.ones(100 * 2**17)
    assert peak_of(lambda: np.ones(10 * 2**17)) < 30


def test_where_the_system_does_not_tell_there_is_no_figure(monkeypatch):
    monkeypatch.setattr("lipgnn.bench.peak.forget_peak", lambda: False)
    assert peak_of(lambda: None) is None


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module for a child process to run: module(text) -> its name."""
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    def write(text):
        (tmp_path / "child.py").write_text(f"import json, os, sys\n{text}")
        return "child"

    return write


def test_the_child_gets_its_job_and_its_threads(module):
    name = module(
        "job = json.loads(sys.argv[1]); print(job['mb'] + job['threads'] * int(os.environ['OMP_NUM_THREADS']))"
    )
    assert peak_in_child(name, {"mb": 1.5}, threads=2) == 5.5


def test_a_child_that_was_killed_has_no_figure(module):
    assert peak_in_child(module("os.kill(os.getpid(), 9)"), {}, threads=1) is None


def test_a_child_that_failed_tells_why(module):
    with pytest.raises(RunFailed, match="ValueError: no such graph"):
        peak_in_child(module("raise ValueError('no such graph')"), {}, threads=1)
