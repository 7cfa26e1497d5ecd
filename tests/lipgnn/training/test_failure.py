import json

import pytest

from lipgnn.errors import DataError, RunFailed
from lipgnn.results.claims import Held
from lipgnn.results.store import Store
from lipgnn.training.distributed.launch import Workers
from lipgnn.training.failure import noting_failure


@pytest.fixture
def run(tmp_path):
    return Store(tmp_path).run("0" * 12)


@pytest.mark.parametrize(
    "error, words, hint",
    [
        (RuntimeError("it broke\nin two"), "The run failed in epoch 1: it broke.", "--debug"),
        (MemoryError(), "The run failed in epoch 1: MemoryError.", "--stack reversible"),
        (RunFailed("Known.", "Do this."), "Known.", "Do this."),
    ],
)
def test_a_note_says_why(run, error, words, hint):
    with pytest.raises(RunFailed) as failure, noting_failure(run, Workers()):
        raise error
    assert failure.value.message == words and hint in failure.value.hint
    assert json.loads(run.failure_path.read_text())["reason"] == words


@pytest.mark.parametrize("error", [DataError("wrong data"), Held("another's")])
def test_what_is_no_failure_of_the_run_leaves_none(run, error):
    with pytest.raises(type(error)), noting_failure(run, Workers()):
        raise error
    assert not run.failure_path.exists()
