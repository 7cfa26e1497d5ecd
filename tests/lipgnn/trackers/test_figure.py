import pytest

from lipgnn.diagnose.diagnosis import diagnose
from lipgnn.diagnose.subject import saved_subject
from lipgnn.results.store import Store
from lipgnn.trackers import figure
from lipgnn.training.loop import train


@pytest.fixture
def trained(small_spec, load_for, tmp_path):
    """The run of a few epochs, and its data."""

    def run(**changes):
        spec = small_spec.with_values(epochs=2, schedule="none", **changes)
        dataset, store = load_for(spec), Store(tmp_path / "results")
        *_, finished = train(spec, dataset, store)
        return store.run(finished.result["run_id"]), dataset

    return run


def test_the_figure_is_drawn_of_what_diagnose_finds(trained, tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(figure, "draw_layers", lambda *given: drawn.append(given) or b"a picture")
    run, dataset = trained(norm="lip")
    path = figure.diagnose_figure(run, dataset, "cpu", tmp_path)
    assert path.read_bytes() == b"a picture" and path.suffix == ".png"
    layers = diagnose(saved_subject(run.best_path), "cpu").to_dict()["layers"]
    assert drawn == [(layers, "gat, 2 layers, planted, at end of training", "png")]


def test_without_layers_or_a_model_there_is_none(trained, tmp_path):
    run, dataset = trained(layers=0, norm="none")
    assert figure.diagnose_figure(run, dataset, "cpu", tmp_path) is None
    run.best_path.unlink()
    assert figure.diagnose_figure(run, dataset, "cpu", tmp_path) is None
