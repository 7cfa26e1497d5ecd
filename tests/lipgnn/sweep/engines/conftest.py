"""What the tests of all engines share: one grid, its results by local processes, and the processes of a sweep."""

import csv
import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

GRID = ("--dataset", "planted", "--layers", "2,4", "--norm", "none,lip", "--seeds", "0-1", "--epochs", "5")
GRID += ("--jobs", "2", "--threads", "1")
MEASURED = ("seconds", "seconds_per_epoch", "peak_memory_mb")
ENDLESS = 10**6


class Sweeps:
    """Sweeps of one engine in one folder, each a process of its own.

    Parameters
    ----------
    program : the program as arguments.
    folder : where they are called.
    options : that choose the engine.
    """

    def __init__(self, program, folder, *options):
        self.words = [*program, "sweep"]
        self.folder = folder
        self.options = [*options, "--json"]

    def start(self, *arguments):
        self.process = subprocess.Popen(
            [*self.words, *arguments, *self.options],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def finish(self, code):
        """The closing object and stderr of a sweep that must end with an exit code."""
        out, err = self.process.communicate(timeout=300)
        assert self.process.returncode == code, err
        return json.loads(out), err

    def run(self, *arguments, code=0):
        self.start(*arguments)
        return self.finish(code)[0]

    def rows(self):
        """results.csv without what is measured."""
        with open(self.folder / "results" / "results.csv", newline="") as file:
            return [{k: v for k, v in row.items() if k not in MEASURED} for row in csv.DictReader(file)]

    def run_of(self, seed):
        """The folder of the run of a seed, None while there is none."""
        paths = (self.folder / "results" / "runs").glob("*/spec.json")
        return next((path.parent for path in paths if json.loads(path.read_text())["spec"]["seed"] == seed), None)

    def await_file(self, seed, name):
        """The folder of the run of a seed, once it has a file."""
        run = self._await(lambda: self.run_of(seed))
        self._await((run / name).exists)
        return run

    def worker_of(self, seed):
        """The process that computes the run of a seed, once it has saved an epoch."""
        return json.loads((self.await_file(seed, "last.json") / "claim").read_text())["pid"]

    def _await(self, condition):
        for _ in range(1200):
            if value := condition():
                return value
            assert self.process.poll() is None, self.process.communicate()
            time.sleep(0.1)
        raise AssertionError("nothing happened for two minutes")


@pytest.fixture
def sweeps(program, tmp_path):
    """Sweeps of an engine: sweeps("--engine", "ray")."""
    started = []

    def make(*options):
        started.append(Sweeps(program, tmp_path, *options))
        return started[-1]

    yield make
    for sweep in started:
        if sweep.process.poll() is None:
            sweep.process.kill()
            sweep.process.communicate()


@pytest.fixture(scope="session")
def local_rows(program, tmp_path_factory):
    """The results of the grid, computed by local processes."""
    local = Sweeps(program, tmp_path_factory.mktemp("local"))
    local.run(*GRID)
    return local.rows()


@pytest.fixture
def computes_as_local_processes_do(sweeps, local_rows):
    """The grid gives the same results.csv as local processes; again, it runs nothing."""

    def check(*options):
        sweep = sweeps(*options)
        assert sweep.run(*GRID)["ran"] == 8
        assert sweep.rows() == local_rows
        assert [path.name for path in sweep.folder.joinpath("results").glob(".*")] == []
        assert sweep.run(*GRID) | {"seconds": 0} == {
            "planned": 8,
            "done": 8,
            "ran": 0,
            "failed": 0,
            "skipped": 8,
            "diverged": 0,
            "seconds": 0,
        }

    return check


PATHS = [
    *("--dataset", "planar:200", "--model", "diffusion", "--layers", "3", "--epochs", "1"),
    *("--walk", "nb,plain", "--jobs", "2", "--threads", "1"),
]


@pytest.fixture
def computes_paths_as_local_processes_do(sweeps, program, tmp_path_factory):
    """A grid of task paths gives the same results.csv as local processes."""

    def check(*options):
        sweep, local = sweeps(*options), Sweeps(program, tmp_path_factory.mktemp("local_paths"))
        assert sweep.run(*PATHS)["ran"] == local.run(*PATHS)["ran"] == 2
        assert sweep.rows() == local.rows()

    return check


@pytest.fixture
def survives_its_processes(sweeps):
    """Of four runs one loses its worker, one its supervisor, one ends well, and the last is stopped by SIGTERM."""

    def check(*options):
        sweep = sweeps(*options)
        grid = f"[fixed]\ndataset='planted'\nlayers=2\npatience=0\n[zip]\nepochs=[{ENDLESS},{ENDLESS},5,{ENDLESS}]\n"
        (sweep.folder / "grid.toml").write_text(grid + "seed=[0,1,2,3]\n")
        sweep.start("grid.toml", "--jobs", "2", "--threads", "1", "--save-every", "1")
        os.kill(sweep.worker_of(0), signal.SIGKILL)
        os.kill(_parent(sweep.worker_of(1)), signal.SIGKILL)
        sweep.await_file(2, "result.json")
        sweep.await_file(3, "last.json")
        # An engine may wait before it gives a supervisor up; asked to stop meanwhile, it calls the run interrupted.
        sweep.await_file(1, "failure.json")
        sweep.process.send_signal(signal.SIGTERM)
        summary, err = sweep.finish(130)
        assert (summary["ran"], summary["failed"], summary["skipped"]) == (1, 2, 1)
        reasons = [json.loads((sweep.run_of(seed) / "failure.json").read_text())["reason"] for seed in (0, 1)]
        assert reasons[0].startswith("killed by signal 9 (SIGKILL), as the system does when memory runs out")
        assert all(reason in err for reason in reasons)
        stopped = sweep.run_of(3)
        assert (stopped / "last.json").exists() and not (stopped / "claim").exists()
        return reasons[1]

    return check


def _parent(pid):
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
