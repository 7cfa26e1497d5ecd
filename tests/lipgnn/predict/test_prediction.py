import dataclasses

import numpy as np
import pytest
import torch

from lipgnn.certify import certify
from lipgnn.errors import UsageError
from lipgnn.evaluate import evaluate
from lipgnn.predict.inputs import prepared_to_predict
from lipgnn.predict.prediction import predict
from lipgnn.tasks.saved import SavedModel

CPU = torch.device("cpu")


def test_probabilities_are_the_softmax_of_the_network_and_score_as_evaluate_says(model_of):
    saved, data = model_of()
    found = predict(saved, data, CPU)
    with torch.no_grad():
        logits = saved.network(data.graph, data.features).double().numpy()
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    np.testing.assert_allclose(found.probabilities, powers / powers.sum(axis=1, keepdims=True), rtol=1e-5)
    ordered = np.sort(logits, axis=1)
    np.testing.assert_allclose(found.margin, ordered[:, -1] - ordered[:, -2], atol=1e-6)
    right = found.chosen == data.labels_array
    for part, score in evaluate(saved, data, CPU).accuracy.items():
        assert right[data.split.parts[part]].mean() == pytest.approx(score)


def test_a_graph_without_labels_is_predicted_as_the_same_nodes_with_labels(model_of, unlabelled):
    """The order of nodes does not matter, and ids are the user's own."""
    saved, data = model_of()
    ours, theirs = predict(saved, data, CPU), predict(saved, prepared_to_predict(saved, unlabelled), CPU)
    assert ours.ids.tolist() == [str(number) for number in range(400)]
    place = [int(text.removeprefix("node ")) for text in theirs.ids]
    np.testing.assert_allclose(theirs.probabilities, ours.probabilities[place], atol=1e-6)
    assert theirs.classes == ours.classes == ("0", "1", "2", "3")


def test_batches_change_nothing(model_of, unlabelled):
    saved, _ = model_of(layers=3)
    data = prepared_to_predict(saved, unlabelled)
    whole, parts = predict(saved, data, CPU), predict(saved, data, CPU, batch_size=37)
    np.testing.assert_allclose(parts.probabilities, whole.probabilities, atol=1e-6)


def test_it_can_be_used_as_its_probabilities(model_of):
    saved, data = model_of()
    found = predict(saved, data, CPU)
    assert np.asarray(found).shape == found[:].shape == (len(found), 4) == (400, 4)
    assert np.asarray(found, dtype=np.float64).dtype == np.float64
    np.testing.assert_array_equal(found[3], next(iter(found[3:])))
    np.testing.assert_array_equal([row.argmax() for row in found], found.chosen)


def test_columns_and_names(model_of):
    saved, data = model_of()
    named = dataclasses.replace(saved, class_names=("a", "b", "c", "d"))
    table = predict(named, data, CPU).to_pandas()
    assert list(table) == ["id", "predicted", "probability", "margin", "p_a", "p_b", "p_c", "p_d"]
    assert (table["probability"] == table[["p_a", "p_b", "p_c", "p_d"]].max(axis=1)).all()
    assert set(table["predicted"]) <= set("abcd")
    assert "<table" in predict(named, data, CPU)._repr_html_() and "400 items" in repr(predict(named, data, CPU))


def test_radii_are_those_of_the_certificate(model_of):
    """Of the test nodes, half are certified beyond the certificate's median."""
    saved, data = model_of(dtype="float64")
    found = predict(saved, data, CPU, certify=True)
    certificate = certify(saved, data, CPU, tries=0)
    assert found.uncertified is None and (found.radius > 0).all()
    ours = torch.tensor(found.radius[data.split.test]).median().item()
    assert ours == pytest.approx(certificate.median_radius)
    assert "radius" in found.columns()


def test_without_a_bound_nothing_is_certified_and_it_says_why(model_of):
    saved, data = model_of(norm="none")
    found = predict(saved, data, CPU, certify=True)
    assert (found.radius == 0).all() and found.uncertified


def test_several_labels_have_a_probability_each(model_of):
    saved, data = model_of()
    several = dataclasses.replace(saved, task="labels")
    found = predict(several, data, CPU)
    with torch.no_grad():
        expected = 1 / (1 + np.exp(-saved.network(data.graph, data.features).double().numpy()))
    np.testing.assert_allclose(found.probabilities, expected, rtol=1e-5)
    assert list(found.columns()) == ["id", "p_0", "p_1", "p_2", "p_3"] and found.predicted is None
    with pytest.raises(UsageError, match="yes-or-no"):
        predict(several, data, CPU, certify=True)


def test_trees_have_a_class_each_and_no_batches(model_of):
    saved, data = model_of(dataset="trees:2:4", features="raw", batch_size=5)
    found = predict(saved, data, CPU)
    np.testing.assert_allclose(found.probabilities.sum(axis=1), 1, rtol=1e-5)
    with pytest.raises(UsageError, match="many"):
        predict(saved, data, CPU, batch_size=5)


def test_paths_have_no_classes(small_spec, load_for):
    spec = small_spec.with_values(dataset="planted")
    data = load_for(spec)
    saved = SavedModel(torch.nn.Identity(), spec, data.fingerprint, "paths", data.shape, None)
    with pytest.raises(UsageError, match="where paths go on"):
        predict(saved, data, CPU)


def test_too_little_memory_is_said_in_a_sentence(model_of, monkeypatch):
    from lipgnn.errors import RunFailed

    saved, data = model_of()

    def fail(*arguments):
        raise RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate 10 bytes")

    monkeypatch.setattr(saved.network, "forward", fail)
    with pytest.raises(RunFailed, match="not enough memory"):
        predict(saved, data, CPU)
    monkeypatch.setattr(saved.network, "forward", lambda *arguments: torch.ones(2) @ torch.ones(3))
    with pytest.raises(RuntimeError, match="size"):
        predict(saved, data, CPU)
