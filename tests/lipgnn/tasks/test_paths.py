"""The task of trajectories: its data, its options, and what is learned."""

import json

import pytest
import torch
from five_files import write_five_files

from lipgnn.errors import UsageError
from lipgnn.spec.sources import resolve
from lipgnn.tasks import find_task, identify, load, task_of
from lipgnn.tasks.paths import Paths
from lipgnn.training.state import Training


def test_names_and_folders_lead_to_the_task(tmp_path):
    folder = str(write_five_files(tmp_path / "mine"))
    for name in ("planar", folder):
        task = task_of(name)
        assert isinstance(task, Paths) and task is find_task("paths")
        data = load(name)
        assert find_task(data.task) is task and data.fingerprint == identify(name)


def test_a_run_takes_the_data_as_it_is():
    assert task_of("planar").defaults("planar", "gat")["features"] == "raw"
    with pytest.raises(UsageError, match="no other split"):
        identify("planar", split="random:3")


def spec_of(**options):
    return resolve({"dataset": "planar", **options}, {}).spec


@pytest.mark.parametrize(
    "options, refusal",
    [
        ({"horizon": "longest"}, "horizon must be given or shortest:X"),
        ({"horizon": "shortest:"}, "horizon must be given or shortest:X"),
        ({"transitions": "learned", "model": "gat"}, "--transitions learned is of model diffusion"),
        ({"loss": "nll-nb", "walk": "plain"}, "--loss nll-nb is of walkers that do not go back"),
        ({"dataset": "planted", "walk": "nb"}, "--walk is of task paths"),
        ({"dataset": "planted", "observed": 3}, "--observed is of task paths"),
        ({"dataset": "planted", "model": "diffusion"}, "'diffusion' is of task paths"),
    ],
    ids=str,
)
def test_options_that_contradict_are_refused(options, refusal):
    with pytest.raises(UsageError, match=refusal):
        spec_of(**options)


def test_the_command_refuses_them_with_2(lipgnn):
    done = lipgnn("train", "--dataset", "planar", "--walk", "plain", "--loss", "nll-nb", check=2)
    assert "Use --loss nll." in done.stderr


def test_the_loss_follows_the_walk():
    assert spec_of().loss == "nll-nb" and spec_of(walk="plain").loss == "nll"


def test_readers_have_the_settings_of_the_authors():
    spec = spec_of(dataset="wikispeedia", model="diffusion")
    assert (spec.observed, spec.layers, spec.walk, spec.predict) == (4, 5, "plain", "start-to-target")
    assert (spec.lr, spec.batch_size, spec.epochs, spec.transitions, spec.loss) == (0.1, 10, 5, "learned", "nll")
    assert spec_of(dataset="wikispeedia", model="gat").transitions == "uniform"
    traces = spec_of(dataset="lausanne", model="diffusion")
    assert (traces.layers, traces.lr) == (60, 0.01)


def test_deep_encoders_have_sums_that_32_layers_can_learn_with():
    spec = spec_of(layers=32)
    assert (spec.residual, spec.lr) == ("scaled", 0.005)
    assert spec_of(model="diffusion").lr == 0.05


def test_gretel_learns_where_walkers_go():
    """G10: of all decisions after 8 epochs more than half are right; those of a uniform walk are .19."""
    training = Training(spec_of(dataset="planar:200", model="diffusion"), load("planar:200"), torch.device("cpu"))
    for _ in range(8):
        training.step()
    assert training.last.test_score > 0.5


def test_sweeps_and_reports_are_as_of_any_task(lipgnn):
    """By processes of their own, over options of this task."""
    grid = (
        "--dataset",
        "planar:200",
        "--model",
        "diffusion",
        "--layers",
        "2",
        "--walk",
        "plain,nb",
        "--loss",
        "nll,target",
    )
    lipgnn("sweep", *grid, "--epochs", "1", "--jobs", "2", "--threads", "1", check=0)
    cells = json.loads(lipgnn("report", "--rows", "walk", "--cols", "loss", "--json", check=0).stdout)["cells"]
    assert sorted(cell["row"]["walk"] for cell in cells) == ["nb", "nb", "plain", "plain"]
    assert [cell["n"] for cell in cells] == [1, 1, 1, 1]
