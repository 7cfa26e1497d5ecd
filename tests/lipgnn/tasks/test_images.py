"""The task of images: its names and options, and what it refuses."""

import json

import numpy as np
import pytest
from pictures import write_idx_folder

from lipgnn.catalog import IMAGE_MEASURES
from lipgnn.errors import UsageError
from lipgnn.results.recordings import read_recording
from lipgnn.spec.sources import command_for, resolve
from lipgnn.tasks import find_task, identify, load, task_of
from lipgnn.tasks.images import Images
from lipgnn.tasks.measured import measured

SMALL = {"dataset": "digits:4", "split": "random:0:20:10", "layers": 1, "hidden": 2, "heads": 2, "epochs": 3}


def test_names_and_folders_lead_to_the_task(tmp_path):
    folder = str(write_idx_folder(tmp_path / "mine"))
    for name in ("digits", "digits:4:rotated", folder, f"{folder}:4"):
        task = task_of(name)
        assert isinstance(task, Images) and task is find_task("images")
        data = load(name)
        assert find_task(data.task) is task and data.fingerprint == identify(name)


def test_runs_that_name_no_model_have_one_that_sees_types():
    resolved = resolve({"dataset": "digits"}, {})
    assert resolved.spec.model == "gt" and resolved.sources["model"] == "default of data set digits"
    assert resolve({"dataset": "digits", "model": "gt"}, {}).spec == resolved.spec
    assert "--group z2" in command_for(resolve({"dataset": "digits", "group": "z2"}, {}).spec)


@pytest.mark.parametrize(
    ("options", "refusal"),
    [
        ({"model": "gcn"}, "which model 'gcn' does not tell apart"),
        ({"head_sharing": "mqa"}, "heads that share keys do not tell apart"),
        ({"group": "p6"}, "Unknown value of group 'p6'"),
        ({"readout": "sum"}, "Unknown value of readout 'sum'"),
        ({"reach": -1}, "reach must be at least 0"),
        ({"walk": "nb"}, "--walk is of task paths"),
        ({"dataset": "cora", "group": "p4"}, "--group is of task images"),
        ({"dataset": "planar", "reach": 1}, "--reach is of task images"),
    ],
)
def test_options_that_contradict_are_refused(options, refusal):
    with pytest.raises(UsageError, match=refusal):
        resolve({"dataset": "digits", **options}, {})


def test_a_reach_larger_than_the_image_is_refused_before_anything_is_written(invoke, tmp_path):
    code, _, err = invoke("train", "--dataset", "digits", "--reach", 8)
    assert code == 2 and "--reach 8 is larger than an image of 8 × 8 pixels" in err
    assert not list((tmp_path / "results").rglob("*.json"))
    with pytest.raises(UsageError, match="--reach 4 is larger"):
        measured(resolve({"dataset": "digits:4", "reach": 4}, {}).spec, load("digits:4"))


@pytest.mark.parametrize("group", ["z2", "mirror", "p4", "p4m"])
def test_every_group_trains(invoke, group):
    words = [f"--{name}={value}" for name, value in SMALL.items()]
    code, out, err = invoke("train", *words, "--group", group, "-q", "--json")
    assert code == 0, err
    result = json.loads(out)
    assert result["metric"] == "accuracy"
    same = {"z2": (), "mirror": ("mirrored_score",), "p4": ("turned_score",)}.get(group, tuple(IMAGE_MEASURES))
    assert all(result[name] == pytest.approx(result["test_score"]) for name in same)
    assert all(0 <= result[name] <= 1 for name in IMAGE_MEASURES)


@pytest.mark.parametrize("command", ["diagnose", "evaluate --certify"])
def test_what_is_of_nodes_is_refused_in_one_sentence(invoke, tmp_path, command):
    words = [f"--{name}={value}" for name, value in SMALL.items()]
    assert invoke("train", *words, "-q", "--json")[0] == 0
    (run,) = (tmp_path / "results" / "runs").iterdir()
    name, *more = command.split()
    code, _, err = invoke(name, run, *more)
    assert code == 2, err
    assert "are of images" in err or "images are many" in err


def test_sweeps_and_reports_are_as_of_any_task(invoke):
    words = [f"--{name}={value}" for name, value in SMALL.items()]
    code, _, err = invoke("sweep", *words, "--group", "z2,p4", "--seeds", "0-1")
    assert code == 0, err
    for value in ("test_score", "turned_score"):
        code, out, _ = invoke("report", "--rows", "group", "--value", value, "--format", "csv")
        assert code == 0 and "z2" in out and "p4" in out


def test_layers_of_many_images_are_recorded(invoke, tmp_path):
    words = [f"--{name}={value}" for name, value in SMALL.items()]
    code, _, err = invoke("train", *words, "--record", "similarity", "--record", "gradients", "-q", "--json")
    assert code == 0, err
    (run,) = (tmp_path / "results" / "runs").iterdir()
    recorded = read_recording(run / "similarity.safetensors")
    assert recorded["feat_mu"].shape == (SMALL["epochs"] + 1, SMALL["layers"] + 1)
    assert np.isfinite(recorded["feat_mu"]).all() and np.isfinite(recorded["grad_norm"]).all()
    code, _, err = invoke("train", *words, "--seed", 1, "--record", "reach")
    assert code == 2 and "are of images" in err
