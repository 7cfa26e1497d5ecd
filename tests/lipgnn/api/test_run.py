import pytest
from matplotlib.figure import Figure

import lipgnn
from lipgnn.errors import DataError, UsageError
from lipgnn.results.store import Store


def test_a_run_has_its_scores_course_and_model(run):
    assert run.status == "done" and run.metric == "accuracy"
    history = run.history()
    assert history["epoch"].tolist() == [1, 2, 3, 4]
    best = history[history["epoch"] == run.result["best_epoch"]].iloc[0]
    assert (best["train_score"], best["val_score"], best["test_score"]) == (
        run.train_score,
        run.val_score,
        run.test_score,
    )
    assert run.spec.run_id(run.result["fingerprint"]) == run.id
    assert run.model is run.model and run.model.spec.layers == 2
    assert run.command.startswith("lipgnn train --dataset planted")


def test_a_run_is_found_again(run):
    for reference in (run.id, run.id[:5], run.path):
        assert lipgnn.Run.find(reference).result == run.result
    with pytest.raises(UsageError, match="No run"):
        lipgnn.Run.find("ffff")
    Store(run.path.parent.parent).run("0" * 12).path.mkdir()
    with pytest.raises(DataError, match="not finished"):
        lipgnn.Run.find(run.path.parent / ("0" * 12))


def test_it_shows_itself(run):
    assert run.id in repr(run) and f"{run.test_score:.4f}" in repr(run)
    page = run._repr_html_()
    assert "test accuracy" in page and run.id in page and page.count("<table>") == 1


def test_its_course_is_a_figure_of_matplotlib(run, tmp_path):
    figure = run.figure()
    assert isinstance(figure, Figure)
    losses, scores = figure.axes
    line = next(line for line in losses.lines if line.get_label() == "training")
    assert line.get_ydata().tolist() == run.history()["train_loss"].tolist()
    assert {line.get_label() for line in scores.lines} == {"training", "validation", "test", "selected epoch"}
    figure.savefig(tmp_path / "run.pdf")
    assert figure._repr_png_().startswith(b"\x89PNG")


def test_verbs_of_a_run_are_those_of_the_library(run, tmp_path):
    assert run.evaluate().test_score == run.test_score
    assert run.diagnose().to_dict()["model"] == str(run.model.path)
    assert run.predict().ids.tolist() == lipgnn.predict(run.id).ids.tolist()
    files = run.export(tmp_path / "model")
    assert run.result["fingerprint"] in files["card"].read_text()


def test_a_run_without_a_model_says_so(run):
    run.model.path.unlink()
    with pytest.raises(DataError, match=r"is done and has no best\.safetensors"):
        _ = lipgnn.Run.find(run.id).model


def test_a_run_that_diverged_can_be_diagnosed_and_trained_on(tmp_path):
    wild = {"layers": 256, "model": "gcn", "norm": "none", "residual": "identity", "hidden": 4, "heads": 1}
    run = lipgnn.train("planted", **wild, epochs=2, results=tmp_path, progress=False)
    assert (run.status, run.any_model.path) == ("diverged", run.last_good.path)
    with pytest.raises(DataError, match=r"is diverged and has no best\.safetensors"):
        _ = run.model
    found = run.diagnose()
    assert found.verdict == "diverged" and found.to_dict()["at"] == "last good state"
    again = lipgnn.train(start_from=run.last_good, epochs=2, residual="scaled", results=tmp_path, progress=False)
    assert again.status == "done"


def test_only_a_run_that_diverged_has_a_last_good_state(run):
    with pytest.raises(DataError, match=r"is done and has no last-good\.safetensors"):
        _ = run.last_good
