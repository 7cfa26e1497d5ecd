import sys

import pytest

from lipgnn.errors import EnvironmentBroken, UsageError
from lipgnn.sweep.engines.events import Orders
from lipgnn.sweep.engines.slurm import SlurmEngine


@pytest.mark.real("submitit")
def test_submitit_s_local_executor_gives_the_results_of_local_processes(computes_as_local_processes_do):
    computes_as_local_processes_do("--engine", "slurm", "--address", "local")


@pytest.mark.real("submitit")
def test_a_run_ends_alone_and_a_sweep_politely(survives_its_processes):
    assert "ended without a word" in survives_its_processes("--engine", "slurm", "--address", "local")


@pytest.mark.real("submitit")
def test_other_executors_are_refused(tmp_path):
    with pytest.raises(UsageError, match="'slrum'") as caught:
        SlurmEngine(Orders(tmp_path), "slrum")
    assert "Did you mean 'slurm'?" in caught.value.hint


def test_without_submitit_the_extra_is_named(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "submitit", None)
    with pytest.raises(EnvironmentBroken, match="needs submitit") as caught:
        SlurmEngine(Orders(tmp_path))
    assert 'pip install "lipgnn[slurm]"' in caught.value.hint
