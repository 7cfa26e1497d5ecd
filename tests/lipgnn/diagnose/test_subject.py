"""What is looked at: a run at its end and at its start, a file, or a new network; and what cannot be asked for."""

import pytest
import torch

from lipgnn.diagnose.diagnosis import diagnose
from lipgnn.diagnose.subject import GOOD, INITIAL, TRAINED, SubjectRequest, new_subject, saved_subject
from lipgnn.errors import DataError, UsageError
from lipgnn.results.store import Store
from lipgnn.tasks.saved import load_model
from lipgnn.training.loop import train
from lipgnn.training.state import Training


@pytest.fixture
def trained(small_spec, load_for, tmp_path):
    """A store with one run of three epochs, and that run."""
    store = Store(tmp_path / "results")
    (*_, finished) = train(small_spec.with_values(epochs=3), load_for(small_spec), store)
    return store, store.run(finished.result["run_id"])


def same_weights(one, other):
    return all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))


def test_a_run_is_looked_at_as_it_was_saved(trained):
    store, run = trained
    for reference in (run.id, run.id[:5], str(run.path), str(run.best_path)):
        subject = SubjectRequest(reference).subject(store, {})
        assert (subject.at, subject.path) == (TRAINED, run.best_path)
        assert same_weights(subject.network, load_model(run.best_path).network)


def test_the_start_of_a_run_is_where_its_training_began(trained, load_for):
    store, run = trained
    subject = SubjectRequest(run.id, initial=True, options={"device": "cpu"}).subject(store, {})
    began = Training(subject.spec, load_for(subject.spec), torch.device("cpu")).network
    assert (subject.at, subject.path) == (INITIAL, run.best_path)
    assert same_weights(subject.network, began)
    assert same_weights(new_subject(subject.spec).network, began)
    assert not same_weights(subject.network, saved_subject(run.best_path).network)


def test_a_new_network_has_its_options_from_all_places(tmp_path):
    config = tmp_path / "run.toml"
    config.write_text('dataset = "planted"\nlayers = 3\nhidden = 2\n')
    request = SubjectRequest(None, initial=True, options={"heads": 2}, config=config)
    subject = request.subject(Store(tmp_path), {"LIPGNN_HIDDEN": "4"})
    spec = subject.spec
    assert (spec.dataset, spec.layers, spec.hidden, spec.heads) == ("planted", 3, 4, 2)
    assert (subject.path, subject.at, len(subject.network.blocks)) == (None, INITIAL, 3)


def test_a_run_without_a_model_is_refused(trained):
    store, run = trained
    run.best_path.unlink()
    with pytest.raises(DataError, match="holds no best"):
        SubjectRequest(run.id).subject(store, {})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"reference": None}, "nothing to diagnose"),
        ({"reference": None, "options": {"layers": 3}}, "nothing to diagnose"),
        ({"reference": "ab", "options": {"weight_norm": "none"}}, "its own --weight-norm"),
        ({"reference": "ab", "initial": True, "preset": "deep"}, "its own --preset"),
        ({"reference": "ab", "config": "run.toml"}, "its own --config"),
    ],
)
def test_what_cannot_be_meant_is_refused(given, message):
    with pytest.raises(UsageError, match=message):
        SubjectRequest(**given)


def test_a_diverged_run_is_looked_at_where_it_was_good(small_spec, load_for, tmp_path):
    store = Store(tmp_path / "results")
    wild = {"layers": 256, "hidden": 8, "model": "gcn", "norm": "none", "residual": "identity", "activation": "relu"}
    spec = small_spec.with_values(**wild, attn_dropout=0, dropout=0, epochs=2)
    (*_, finished) = train(spec, load_for(spec), store)
    for at in (None, "last-good"):
        subject = SubjectRequest(finished.result["run_id"], at=at).subject(store, {})
        assert subject.at == GOOD
    found = diagnose(subject, "cpu")
    assert [finding.name for finding in found.verdict.findings][:2] == ["diverged", "exploding"]
    assert "before its first step" in found.verdict.evidence[0]
    assert not any("--lr" in option.words for option in found.verdict.options)
