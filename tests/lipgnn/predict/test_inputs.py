import dataclasses

import numpy as np
import pytest

from lipgnn.datasets import read, write_npz
from lipgnn.errors import DataError, UsageError
from lipgnn.predict.inputs import data_to_predict, prepared_to_predict


def test_its_own_data_comes_with_what_was_erased(model_of):
    saved, data = model_of(missing=0.5)
    for name in (None, "planted"):
        own = data_to_predict(saved, name)
        np.testing.assert_array_equal(own.features.to_dense(), data.features.to_dense())
    assert own.split.train.any()


def test_of_another_graph_nothing_is_erased(model_of, unlabelled, tmp_path):
    saved, _ = model_of(missing=0.5, features="raw")
    write_npz(unlabelled, tmp_path / "new.npz")
    other = data_to_predict(saved, str(tmp_path / "new.npz"))
    np.testing.assert_array_equal(other.features.to_dense(), unlabelled.features)
    assert not any(mask.any() for mask in other.split.parts.values())
    np.testing.assert_array_equal(other.source.node_ids, unlabelled.node_ids)


def test_features_take_the_form_of_the_model(model_of, unlabelled):
    saved, _ = model_of(features="row")
    sums = prepared_to_predict(saved, unlabelled).features.to_dense().abs().sum(dim=1)
    np.testing.assert_allclose(sums[sums > 0], 1, rtol=1e-5)


def test_data_that_has_changed_is_refused(model_of):
    saved, _ = model_of()
    with pytest.raises(DataError, match="has changed"):
        data_to_predict(dataclasses.replace(saved, fingerprint="0" * 16))


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        (lambda s: dataclasses.replace(s, features=s.features[:, :31]), DataError, "takes 32 features.*has 31"),
        (lambda s: dataclasses.replace(s, features=np.empty((400, 0), np.float32)), DataError, "without node features"),
    ],
)
def test_other_features_are_refused(model_of, unlabelled, change, error, words):
    with pytest.raises(error, match=words):
        prepared_to_predict(model_of()[0], change(unlabelled))


def test_features_made_from_another_graph_are_refused(model_of, unlabelled):
    saved, _ = model_of(features="svd")
    with pytest.raises(UsageError, match="mean something else"):
        prepared_to_predict(saved, unlabelled)
    assert data_to_predict(saved).num_features == saved.shape[0]


def test_types_of_edges_that_the_model_does_not_know_are_refused(model_of, unlabelled):
    saved, _ = model_of(model="gt", norm="lip")
    typed = dataclasses.replace(unlabelled, edge_types=np.zeros(unlabelled.edges.shape[1], dtype=np.int64))
    with pytest.raises(DataError, match="types of edges"):
        prepared_to_predict(saved, typed)


def test_a_model_of_trees_takes_trees_alone(model_of):
    saved, _ = model_of(dataset="trees:2:4", features="raw", batch_size=5)
    assert data_to_predict(saved, "trees:2:3").task == "trees"
    for ask in (lambda: data_to_predict(saved, "planted"), lambda: prepared_to_predict(saved, read("planted"))):
        with pytest.raises(DataError, match="another kind"):
            ask()


def test_another_graph_is_brought_to_the_scale_of_the_training(model_of, unlabelled):
    """Half of the nodes have other means, and still get the numbers that they have in the whole graph."""
    saved, data = model_of(features="standard")
    half = unlabelled.features[:200]
    there = (unlabelled.edges < 200).all(axis=0)
    changes = {"features": half, "labels": unlabelled.labels[:200], "node_ids": unlabelled.node_ids[:200]}
    part = dataclasses.replace(unlabelled, edges=unlabelled.edges[:, there], **changes)
    found = prepared_to_predict(saved, part).features.to_dense().numpy()
    order = [int(name.split()[1]) for name in unlabelled.node_ids[:200]]
    np.testing.assert_array_equal(found, data.features.to_dense().numpy()[order])
    assert abs(found.mean(axis=0)).max() > 1e-3
