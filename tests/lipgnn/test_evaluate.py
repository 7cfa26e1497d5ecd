import dataclasses
import math
import warnings

import numpy as np
import pytest
import torch
from networks import network_of

from lipgnn.datasets import prepare, write_npz
from lipgnn.errors import DataError
from lipgnn.evaluate import data_for, evaluate
from lipgnn.results.store import Store
from lipgnn.tasks import find_task
from lipgnn.tasks.saved import SavedModel, load_model
from lipgnn.training.loop import train

CPU = torch.device("cpu")


@pytest.fixture
def trained(small_spec, load_for, tmp_path):
    """A model that has learned a little, and its data."""
    store = Store(tmp_path / "results")
    dataset = load_for(small_spec)
    (*_, finished) = train(small_spec, dataset, store)
    return load_model(store.run(finished.result["run_id"]).best_path), dataset


def test_scores_agree_with_scikit_learn(trained):
    """Precision, recall, F1, support and confusion from an independent implementation."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from sklearn.metrics import accuracy_score, confusion_matrix, precision_recall_fscore_support
    saved, dataset = trained
    evaluation = evaluate(saved, dataset, CPU)
    with torch.no_grad():
        predicted = saved.network(dataset.graph, dataset.features).argmax(dim=1)[dataset.test_mask].numpy()
    labels = dataset.labels[dataset.test_mask].numpy()
    assert evaluation.accuracy["test"] == pytest.approx(accuracy_score(labels, predicted))
    assert evaluation.confusion == confusion_matrix(labels, predicted, labels=range(4)).tolist()
    theirs = precision_recall_fscore_support(labels, predicted, labels=range(4), zero_division=float("nan"))
    for key, values in zip(("precision", "recall", "f1", "support"), theirs, strict=True):
        for row, value in zip(evaluation.classes, values, strict=True):
            if not (isinstance(value, float) and math.isnan(value)):
                assert row[key] == pytest.approx(value)


def test_there_is_an_entropy_for_every_layer_of_attention(trained):
    saved, dataset = trained
    entropies = evaluate(saved, dataset, CPU).attention_entropy
    assert len(entropies) == saved.spec.layers
    # LipschitzNorm keeps weights within e^{±1.2/κ} of uniform.
    assert all(0.97 < value <= 1 for value in entropies)


def test_there_is_no_entropy_where_every_node_has_itself_alone(trained):
    saved, dataset = trained
    loops = np.stack([np.arange(dataset.num_nodes)] * 2)
    alone = dataclasses.replace(dataset, edges=loops)
    assert evaluate(saved, alone, CPU).attention_entropy == [None] * saved.spec.layers


def test_evaluation_leaves_no_dropout_on(trained):
    saved, dataset = trained
    assert evaluate(saved, dataset, CPU) == evaluate(saved, dataset, CPU)


def test_a_model_of_trees_takes_trees_alone(small_spec, load_for):
    spec = small_spec.with_values(dataset="trees:2:4", features="raw", batch_size=5)
    trees, planted = load_for(spec), load_for(small_spec)
    network = network_of(spec, trees.num_features, trees.num_classes)
    saved = SavedModel(network, spec, trees.fingerprint, "trees", (trees.num_features, trees.num_classes), None)
    assert evaluate(saved, trees, CPU).accuracy.keys() == {"train", "val", "test"}
    with pytest.raises(DataError, match="another kind"):
        evaluate(saved, planted, CPU)


def test_types_of_edges_that_the_model_has_no_codes_for_are_refused(small_spec, load_for):
    plain = load_for(small_spec)
    types = np.arange(plain.source.edges.shape[1]) % 2
    typed = prepare(dataclasses.replace(plain.source, edge_types=types), plain.split)

    def saved(model, dataset):
        spec = small_spec.with_values(model=model, norm="none")
        network = find_task("nodes").network(spec, *dataset.shape)
        return SavedModel(network.eval(), spec, dataset.fingerprint, "nodes", dataset.shape, None)

    assert evaluate(saved("gt", typed), typed, CPU).accuracy
    # A model that does not tell types apart takes any.
    assert evaluate(saved("gat", typed), plain, CPU).accuracy
    assert evaluate(saved("gat", plain), typed, CPU).accuracy
    with pytest.raises(DataError, match="The model is for 3 types of edges, that of the self-loops among them"):
        evaluate(saved("gt", typed), plain, CPU)
    with pytest.raises(DataError, match="The model is for 0 types of edges"):
        evaluate(saved("gt", plain), typed, CPU)


def test_other_data_is_evaluated_at_the_scale_of_the_training(small_spec, load_for, tmp_path):
    spec = small_spec.with_values(features="standard", epochs=2)
    store = Store(tmp_path / "results")
    (*_, finished) = train(spec, load_for(spec), store)
    saved = load_model(store.find_model(finished.result["run_id"]))
    own = data_for(saved)
    assert (own.features_array == load_for(spec).features_array).all()
    shifted = dataclasses.replace(own.source, features=own.source.features * 2 + 1)
    write_npz(shifted, tmp_path / "other.npz")
    other = data_for(saved, str(tmp_path / "other.npz"))
    expected = (shifted.features - saved.statistics.mean) / saved.statistics.deviation
    np.testing.assert_allclose(other.features_array, expected, rtol=1e-5, atol=1e-5)
