import json
import os
import subprocess

import numpy as np
import pytest
from toy_tracker import plug_in

import lipgnn
from lipgnn.errors import DataError, UsageError


def test_a_run_is_the_same_as_on_the_command_line(program, tmp_path):
    """One id, and one stored result, whoever was first."""
    words = ["train", "--dataset", "cora", "--layers", "4", "--epochs", "3", "-q", "--json"]
    first = subprocess.run([*program, *words], cwd=tmp_path, capture_output=True, text=True, check=True)
    theirs = json.loads(first.stdout)
    began = []
    ours = lipgnn.train("cora", layers=4, epochs=3, on_epoch=began.append)
    assert ours.id == theirs["run_id"] and not began, "the stored result is taken"
    assert ours.result == theirs
    anew = lipgnn.train("cora", layers=4, epochs=3, force=True, on_epoch=began.append)
    assert [epoch.epoch for epoch in began] == [1, 2, 3]
    assert (anew.id, anew.test_score, anew.train_score) == (ours.id, ours.test_score, ours.train_score)


def test_options_come_from_the_same_places(small, monkeypatch, tmp_path):
    (tmp_path / "run.toml").write_text('dataset = "planted"\nclip = 2.5\nseed = 3\n')
    monkeypatch.setenv("LIPGNN_SEED", "5")
    monkeypatch.setenv("LIPGNN_RESULTS", str(tmp_path / "elsewhere"))
    run = lipgnn.train(config="run.toml", **small)
    assert (run.spec.dataset, run.spec.clip, run.spec.seed) == ("planted", 2.5, 5)
    assert run.path.parent == tmp_path / "elsewhere" / "runs"
    numbers = lipgnn.train("planted", results="third", clip=np.float64(2.5), seed=np.int64(5), **small)
    assert numbers.id == run.id and numbers.path.parent.parent.name == "third"


def test_data_in_memory_goes_on_when_it_is_given_again(small, own):
    seen = []

    class Enough(Exception):
        pass

    def stop(epoch):
        seen.append(epoch.epoch)
        if len(seen) == 3:
            raise Enough

    with pytest.raises(Enough):
        lipgnn.train(own, save_every=1, on_epoch=stop, **small)
    run = lipgnn.train(own, on_epoch=lambda epoch: seen.append(epoch.epoch), **small)
    assert seen == [1, 2, 3, 3, 4], "what was not saved is computed again, and nothing else"
    assert run.spec.dataset == "memory:mine" and run.data is own
    whole = lipgnn.train(own, results="other", **small)
    assert (whole.id, whole.test_score) == (run.id, run.test_score)
    import dataclasses

    changed = dataclasses.replace(own, features=own.features * 2)
    assert lipgnn.train(changed, **small).id != run.id


def test_the_shell_says_that_data_was_in_memory(small, own, invoke):
    run = lipgnn.train(own, **small)
    for command in (("evaluate", run.id), ("predict", run.id), ("train", "--dataset", "memory:mine")):
        code, _, err = invoke(*command)
        assert code == 4 and "was given from Python and is in no file" in err and "lipgnn.save" in err
    lipgnn.save(own, "mine.npz")
    assert invoke("evaluate", run.id, "--dataset", "mine.npz")[0] == 0
    assert invoke("report")[0] == 0


def test_a_run_starts_from_another(run, small):
    going_on = lipgnn.train(start_from=run, epochs=2)
    assert going_on.spec.start.startswith("model:") and going_on.spec.layers == run.spec.layers
    assert lipgnn.train(start_from=run.id, epochs=2).id == going_on.id
    assert lipgnn.train(start_from=run.model, epochs=2).id == going_on.id
    with pytest.raises(UsageError, match="says where a run starts"):
        lipgnn.train(start_from=run, preset="deep")


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        ({"data": "planted", "layer": 3}, UsageError, "layer"),
        ({"data": "planted", "layers": "many"}, UsageError, "layers must be a whole number"),
        ({"data": "planted", "dataset": "cora"}, UsageError, "given twice"),
        ({"data": "plantd"}, UsageError, "plantd"),
        ({"data": 3}, DataError, "A int is no data set"),
    ],
)
def test_wrong_use_is_said_in_a_sentence_with_a_note(call, error, words):
    with pytest.raises(error, match=words) as caught:
        lipgnn.train(**call)
    if caught.value.hint and hasattr(caught.value, "__notes__"):
        assert caught.value.__notes__ == [caught.value.hint]
    assert not os.path.exists("results")


def test_cautions_are_warnings(small, own):
    import dataclasses

    typed = dataclasses.replace(own, edge_types=np.zeros(own.edges.shape[1], dtype=np.int64))
    with pytest.warns(UserWarning, match="do not tell apart"):
        lipgnn.train(typed, model="gat", **small)


def test_progress_is_one_line_on_stderr(small, capsys):
    lipgnn.train("planted", progress=True, **small)
    captured = capsys.readouterr()
    assert captured.out == "" and "epoch 4/4" in captured.err and captured.err.count("\n") == 1
    lipgnn.train("planted", seed=1, **small)
    assert capsys.readouterr().err == "", "nobody looks at a pipe"


def test_a_run_has_its_name_and_tags(small):
    run = lipgnn.train("planted", name="my-first", tags=["a", "b"], **small)
    assert lipgnn.Run.find("my-first").id == lipgnn.load("my-first").path.parent.name == run.id
    assert lipgnn.report(tags="a,b").to_pandas()["runs"].tolist() == [[run.id]]
    with pytest.raises(UsageError, match="could be the id"):
        lipgnn.train("planted", name="abc", **small)


def test_a_run_is_logged_by_the_trackers_named(small, monkeypatch):
    made = plug_in(monkeypatch)
    with pytest.warns(UserWarning, match=r"which is not installed: pip install \"lipgnn\[no_such_package\]\""):
        run = lipgnn.train("planted", log="toy,absent", **small)
    assert [epoch for epoch, _ in made[0].epochs] == list(run.history()["epoch"])
    assert made[0].run.folder == run.path.absolute()
    with pytest.raises(UsageError, match="Unknown tracker 'tensorbord'"):
        lipgnn.train("planted", log=["tensorbord"], **small)
