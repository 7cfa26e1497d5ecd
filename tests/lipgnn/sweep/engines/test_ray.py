import sys

import pytest

from lipgnn.errors import EnvironmentBroken
from lipgnn.sweep.engines.events import Orders
from lipgnn.sweep.engines.ray import RayEngine


@pytest.mark.real("ray")
def test_a_local_cluster_of_two_gives_the_results_of_local_processes(computes_as_local_processes_do):
    computes_as_local_processes_do("--engine", "ray")


@pytest.mark.real("ray")
def test_paths_are_computed_as_by_local_processes(computes_paths_as_local_processes_do):
    computes_paths_as_local_processes_do("--engine", "ray")


@pytest.mark.real("ray")
def test_a_run_ends_alone_and_a_sweep_politely(survives_its_processes):
    assert "WorkerCrashedError" in survives_its_processes("--engine", "ray")


@pytest.mark.real("ray")
def test_no_cluster_at_the_address_is_exit_5(lipgnn):
    done = lipgnn("sweep", "--dataset", "planted", "--engine", "ray", "--address", "127.0.0.1:1", check=5)
    assert "Cannot reach a Ray cluster at '127.0.0.1:1'" in done.stderr
    assert "ray start" in done.stderr


def test_without_ray_the_extra_is_named(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(EnvironmentBroken, match="needs ray") as caught:
        RayEngine(Orders(tmp_path))
    assert 'pip install "lipgnn[ray]"' in caught.value.hint
