import subprocess
import sys

import numpy as np
import pytest
from safetensors.numpy import load_file

from lipgnn.errors import DataError, UsageError
from lipgnn.export import card, export, seeds_of, wilson
from lipgnn.results.store import Store
from lipgnn.spec.sources import resolve
from lipgnn.tasks.saved import load_model
from lipgnn.training.loop import train


@pytest.fixture
def trained(small_spec, load_for, tmp_path):
    """A store with a run of two seeds, and the result of the first."""
    store, results = Store(tmp_path / "results"), []
    for seed in (0, 1):
        (*_, finished) = train(small_spec.with_values(seed=seed, epochs=4), load_for(small_spec), store)
        results.append(finished.result)
    return store, results


def test_the_folder_has_all_that_others_need(trained, tmp_path):
    store, (result, other) = trained
    files = export(store, result["run_id"], tmp_path / "model")
    assert {path.name for path in (tmp_path / "model").iterdir()} == {path.name for path in files.values()}
    assert load_file(files["model"]).keys() == load_file(store.run(result["run_id"]).best_path).keys()
    assert resolve({}, {}, files["spec"]).spec.run_id(result["fingerprint"]) == result["run_id"]
    text = files["card"].read_text()
    low, high = wilson(result["test_score"], 220)
    for words in (
        "data set `planted`",
        result["fingerprint"],
        f"| test | {result['test_score']:.4f} | 220 | {low:.4f} to {high:.4f} |",
        f"Over 2 seeds the mean test accuracy is {(result['test_score'] + other['test_score']) / 2:.4f}",
        result["command"],
        "## Limits",
    ):
        assert words in text


def test_the_example_really_runs(trained, tmp_path):
    store, (result, _) = trained
    files = export(store, result["run_id"], tmp_path / "model")
    done = subprocess.run(
        [sys.executable, "-W", "error", files["example"]], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "predicted" in done.stdout and len(files["example"].read_text().splitlines()) <= 15


def test_a_file_alone_is_evaluated(trained, tmp_path):
    store, (result, _) = trained
    copy = tmp_path / "copy.safetensors"
    copy.write_bytes(store.run(result["run_id"]).best_path.read_bytes())
    text = export(store, str(copy), tmp_path / "model")["card"].read_text()
    assert f"| test | {result['test_score']:.4f} | 220 |" in text and "This is one seed" in text


def test_a_card_without_data_says_so(trained):
    store, (result, _) = trained
    saved = load_model(store.run(result["run_id"]).best_path)
    assert "no score is known" in card(saved, None, None, None)
    noted = card(saved, None, seeds_of([0.5]), result)
    assert f"| test | {result['test_score']:.4f} | – | – |" in noted and "not at hand to check" in noted


def test_a_folder_with_other_files_is_refused(trained, tmp_path):
    store, (result, _) = trained
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("")
    (tmp_path / "file").write_text("")
    for name, words in (("full", "thesis.tex"), ("file", "is a file")):
        with pytest.raises(UsageError, match=words):
            export(store, result["run_id"], tmp_path / name)
    with pytest.raises(UsageError, match="No run"):
        export(store, "ffff", tmp_path / "new")
    store.run(result["run_id"]).best_path.unlink()
    with pytest.raises(DataError):
        export(store, result["run_id"], tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_another_model_is_replaced_by_force_alone(trained, tmp_path):
    store, (result, other) = trained
    model = export(store, result["run_id"], tmp_path / "model")["model"]
    assert export(store, result["run_id"], tmp_path / "model")["model"] == model
    before = model.read_bytes()
    with pytest.raises(UsageError, match="has another model in it") as caught:
        export(store, other["run_id"], tmp_path / "model")
    assert "--force" in caught.value.hint and model.read_bytes() == before
    export(store, other["run_id"], tmp_path / "model", force=True)
    assert model.read_bytes() == store.run(other["run_id"]).best_path.read_bytes()


def test_a_file_that_only_has_the_name_of_an_exported_one_stays(trained, tmp_path):
    store, (result, _) = trained
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "README.md").write_text("my project")
    with pytest.raises(UsageError, match=r"'README\.md' of something else"):
        export(store, result["run_id"], tmp_path / "mine")
    assert (tmp_path / "mine" / "README.md").read_text() == "my project"


def test_intervals_agree_with_scipy():
    from scipy import stats

    theirs = stats.binomtest(73, 100).proportion_ci(method="wilson")
    np.testing.assert_allclose(wilson(0.73, 100), (theirs.low, theirs.high))
    scores = [0.8, 0.82, 0.79, 0.85]
    found = seeds_of(scores)
    theirs = stats.t.interval(0.95, 3, np.mean(scores), stats.sem(scores))
    np.testing.assert_allclose((found.low, found.high), theirs)
    assert (found.n, found.mean) == (4, pytest.approx(np.mean(scores)))
