import pytest

from lipgnn.errors import EnvironmentBroken
from lipgnn.training.distributed.surroundings import Place, find_place

TORCHRUN = {
    **{"RANK": "3", "WORLD_SIZE": "4", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2"},
    **{"MASTER_ADDR": "10.0.0.1", "MASTER_PORT": "29500"},
}
SLURM = {
    **{"SLURM_PROCID": "5", "SLURM_STEP_NUM_TASKS": "6", "SLURM_LOCALID": "2", "SLURM_STEP_NUM_NODES": "2"},
    **{"SLURM_STEP_NODELIST": "node[07-08],gpu1", "SLURM_STEP_TASKS_PER_NODE": "3(x2)", "SLURM_JOB_ID": "1234"},
}


def test_torchrun_says_who_this_is():
    assert find_place(TORCHRUN) == Place(3, 4, 1, 2, "10.0.0.1", 29500)
    assert not find_place(TORCHRUN).loopback
    assert find_place({**TORCHRUN, "MASTER_ADDR": "localhost"}).loopback


def test_srun_says_who_this_is():
    place = find_place(SLURM)
    assert (place.rank, place.world, place.local_rank, place.machine, place.address) == (5, 6, 2, 3, "node07")
    assert 1024 < place.port < 2**15 + 2**14


@pytest.mark.parametrize(
    "hosts, first", [("a,b", "a"), ("n[1-3]", "n1"), ("n[01,04]-ib,x", "n01-ib"), ("rack-1-n5", "rack-1-n5")]
)
def test_worker_0_is_on_the_first_machine(hosts, first):
    assert find_place({**SLURM, "SLURM_STEP_NODELIST": hosts}).address == first


def test_a_step_on_one_machine_stays_there_unless_told():
    assert find_place({**SLURM, "SLURM_STEP_NUM_NODES": "1"}).loopback
    told = find_place({**SLURM, "MASTER_ADDR": "10.1.1.1", "MASTER_PORT": "4000"})
    assert (told.address, told.port) == ("10.1.1.1", 4000)


def test_steps_of_two_jobs_do_not_meet():
    ports = {find_place({**SLURM, "SLURM_JOB_ID": str(job), "SLURM_STEP_ID": "0"}).port for job in range(100, 200)}
    assert len(ports) == 100


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {**TORCHRUN, "RANK": "0", "WORLD_SIZE": "1"},
        {"SLURM_PROCID": "0", "SLURM_NTASKS": "8"},
        {**SLURM, "SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "1"},
    ],
    ids=["nobody", "one", "script of a batch job", "one task"],
)
def test_who_is_alone_has_no_place(environment):
    assert find_place(environment) is None


@pytest.mark.parametrize(
    "environment, what",
    [
        ({"RANK": "1", "WORLD_SIZE": "2"}, "no MASTER_ADDR and no MASTER_PORT"),
        ({**TORCHRUN, "RANK": "4"}, "worker 4 is none of 4"),
        ({**TORCHRUN, "RANK": "x"}, "whole numbers"),
        ({**TORCHRUN, "MASTER_PORT": "99999"}, "MASTER_PORT"),
        ({**SLURM, "SLURM_STEP_NODELIST": ""}, "SLURM_STEP_NODELIST"),
    ],
)
def test_what_does_not_fit_together_is_refused(environment, what):
    with pytest.raises(EnvironmentBroken, match=what):
        find_place(environment)
