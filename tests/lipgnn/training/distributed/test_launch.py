import os
import signal
import subprocess
import tempfile
import threading

import pytest
import torch

from lipgnn.errors import RunFailed, UsageError
from lipgnn.spec.run import RunSpec
from lipgnn.tasks import load
from lipgnn.training.distributed.launch import Launched, LaunchedWorker, Placed, Unanswered, Workers, workers_of
from lipgnn.training.distributed.surroundings import Place

SPEC = RunSpec(dataset="planted", batch_size=8, layers=2, hidden=2, heads=2, device="cpu")
PLACE = Place(1, 2, 1, 2, "127.0.0.1", 29500)


def test_workers_are_started_here_or_were_started_by_somebody_else():
    data = load("planted")
    assert type(workers_of(SPEC, data, None)) is Workers
    assert type(workers_of(SPEC.with_values(workers=3), data, None)) is Launched
    placed = workers_of(SPEC, data, PLACE)
    assert type(placed) is Placed and (placed.share.rank, placed.share.world) == (1, 2)
    assert type(workers_of(SPEC.with_values(workers=2), data, PLACE)) is Placed
    with pytest.raises(UsageError, match="2 workers were started, and --workers is 3"):
        workers_of(SPEC.with_values(workers=3), data, PLACE)


def test_alone_there_is_nobody_to_wait_for():
    with Workers() as workers:
        workers.begin()
        assert workers.team().size == 1
        with pytest.raises(RuntimeError, match="own"), workers.explained():
            raise RuntimeError("own")


def test_a_worker_that_is_killed_is_named_and_one_that_lives_is_not_to_blame():
    """Threads are divided, and are as many as before when the workers are gone."""
    before = torch.get_num_threads()
    data = load("planted")
    killed = pytest.raises(Unanswered, match=r"Worker 1 \(process \d+\) was killed by signal 9 \(SIGKILL\)")
    with killed as failure, Launched(SPEC.with_values(workers=2), data) as workers:
        team = workers.team()
        assert team.size == 2 and torch.get_num_threads() == max(1, before // 2)
        (child,) = workers._children
        with pytest.raises(ValueError, match="mine"), workers.explained():
            raise ValueError("mine")
        os.kill(child.process.pid, signal.SIGKILL)
        with workers.explained():
            team.total([1.0])
    assert failure.value.hint == "The same command goes on from there."
    assert child.process.returncode == -signal.SIGKILL
    assert torch.get_num_threads() == before and not torch.distributed.is_initialized()


def test_a_worker_that_is_killed_before_it_is_connected_is_not_waited_for():
    workers = Launched(SPEC.with_values(workers=2), load("planted"))
    gone = LaunchedWorker.__new__(LaunchedWorker)
    gone.rank, gone._stderr = 1, tempfile.TemporaryFile()  # noqa: SIM115 (as long as the child)
    gone.process = subprocess.Popen(["false"])
    gone.process.wait()
    workers._children.append(gone)
    with pytest.raises(Unanswered, match=r"Worker 1 \(process \d+\) ended with exit code 1; the others were ended"):
        workers._while_all_live(threading.Event().wait)
    assert workers._while_all_live(lambda: "connected in time") == "connected in time"
    with pytest.raises(ValueError, match="own"):
        workers._while_all_live(lambda: int("own"))
    gone._stderr.close()


def test_a_worker_that_cannot_read_the_data_says_why():
    told = {"world": 2, "port": 1, "threads": 1, "fingerprint": "0" * 16, "rank": 1}
    child = LaunchedWorker(1, {**told, "data": {"name": "planted"}})
    try:
        with pytest.raises(RunFailed, match="Worker 1 cannot begin: Data set 'planted' has changed"):
            child.wait_until_ready()
    finally:
        child.end()
    assert child.process.returncode is not None


def test_a_connection_that_breaks_is_a_worker_that_does_not_answer():
    workers = Placed(PLACE)
    with pytest.raises(Unanswered, match="does not answer any more"), workers.explained():
        raise RuntimeError("[pair.cc:537] Connection closed by peer")
    with pytest.raises(RuntimeError, match="something else"), workers.explained():
        raise RuntimeError("something else")
