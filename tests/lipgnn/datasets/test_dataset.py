"""Prepared data sets: tensors equal the arrays, live on the CPU, and appear only when asked for."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse

from lipgnn.datasets import load, prepare
from lipgnn.datasets.spectral import graph_svd
from lipgnn.errors import DataError, UsageError
from lipgnn.runtime import EDGE_TYPE


@pytest.fixture
def small(make_source):
    source = make_source()
    return prepare(source, source.splits["public"])


def test_graph_has_the_prepared_edges(small):
    sources, targets = small.graph.edges()
    assert small.graph.idtype == torch.int64 and small.graph.num_nodes() == 6
    np.testing.assert_array_equal(np.stack([sources.numpy(), targets.numpy()]), small.edges)
    assert bool((small.graph.in_degrees() > 0).all())


def test_tensors_equal_arrays(small):
    np.testing.assert_array_equal(small.features.numpy(), small.features_array)
    np.testing.assert_array_equal(small.labels.numpy(), small.labels_array)
    for part, mask in small.split.parts.items():
        tensor = getattr(small, f"{part}_mask")
        assert tensor.dtype == torch.bool
        np.testing.assert_array_equal(tensor.numpy(), mask)
    assert small.features.dtype == torch.float32 and small.labels.dtype == torch.int64
    assert (small.num_nodes, small.num_features, small.num_classes, small.name) == (6, 2, 3, "small")


@pytest.mark.parametrize(("share", "is_sparse"), [(0.2, True), (0.3, False)])
def test_sparse_features_stay_sparse_below_a_quarter(make_source, share, is_sparse):
    dense = np.zeros((6, 10), np.float32)
    dense.ravel()[: round(share * dense.size)] = np.arange(1, 1 + round(share * dense.size))
    source = make_source(features=sparse.csr_array(dense))
    features = prepare(source, source.splits["public"]).features
    assert features.is_sparse == is_sparse
    if is_sparse:
        assert features.is_coalesced()
    np.testing.assert_array_equal((features.to_dense() if is_sparse else features).numpy(), dense)


def test_default_device_is_ignored():
    data = load("cora")
    with torch.device("meta"):
        tensors = [data.features, data.labels, data.train_mask, data.val_mask, data.test_mask, data.graph]
    assert {str(tensor.device) for tensor in tensors} == {"cpu"}


def test_feature_options_change_features_and_not_the_fingerprint(make_source):
    source = make_source()
    split = source.splits["public"]
    plain, changed = prepare(source, split), prepare(source, split, features="row", missing=1.0)
    assert plain.fingerprint == changed.fingerprint
    np.testing.assert_array_equal(changed.features_array[:2], [[1, 0], [0, 1]])
    assert not changed.features_array[2:].any()
    np.testing.assert_array_equal(plain.features_array, source.features)


def test_options_out_of_range(make_source):
    source = make_source()
    with pytest.raises(UsageError):
        prepare(source, source.splits["public"], missing=2.0)
    with pytest.raises(UsageError):
        prepare(source, source.splits["public"], features="l2")


def test_the_substitute_takes_the_place_of_features_and_is_erased_like_them(make_source):
    source = make_source()
    plain, svd = (prepare(source, source.splits["public"], features=form, missing=1.0) for form in ("raw", "svd"))
    assert svd.num_features == 5 and svd.fingerprint == plain.fingerprint
    np.testing.assert_array_equal(svd.features_array[:2], graph_svd(svd.edges, 6)[:2])
    assert not svd.features_array[2:].any()


def test_without_features_both_ways_out_are_named(make_source):
    source = make_source(features=np.empty((6, 0), np.float32))
    with pytest.raises(DataError, match="without node features") as caught:
        prepare(source, source.splits["public"])
    assert "node-feat.csv.gz" in caught.value.hint and "--features svd" in caught.value.hint
    assert prepare(source, source.splits["public"], features="svd").features.shape == (6, 5)


def test_the_metric_follows_the_labels(make_source, small):
    labels = np.array([[0, 1, np.nan]] * 6, dtype=np.float32)
    source = make_source(labels=labels)
    several = prepare(source, source.splits["public"])
    assert (small.task, several.task) == ("nodes", "labels")
    assert several.num_classes == 3 and several.labels.dtype == torch.float32
    np.testing.assert_array_equal(several.labels.numpy(), labels)


def test_it_cannot_be_changed(small):
    with pytest.raises(AttributeError):
        small.split = None


def test_types_of_edges_are_on_the_graph_and_in_the_shape(make_source):
    source = make_source(edge_types=np.array([1, 0, 0, 1, 2, 0]))
    typed = prepare(source, source.splits["public"])
    found = typed.graph.edata[EDGE_TYPE]
    np.testing.assert_array_equal(found.numpy(), typed.edge_types)
    assert found.dtype == torch.int64 and len(found) == typed.graph.num_edges()
    sources, targets = typed.graph.edges()
    assert torch.equal(found == 3, sources == targets)
    assert typed.num_edge_types == 4 and typed.shape == (2, 3, 4)


def test_without_types_the_shape_has_two_numbers(small):
    assert small.shape == (2, 3) and small.num_edge_types == 0 and EDGE_TYPE not in small.graph.edata


def test_substitute_features_are_those_of_the_graph_without_types(make_source):
    # One pair of nodes is joined in two ways.
    source = make_source(
        edge_types=np.array([1, 0, 0, 1, 2, 0]), edges=np.array([[0, 0, 1, 2, 3, 4], [1, 1, 2, 3, 4, 5]])
    )
    plain = make_source(edges=source.edges)
    found = [prepare(each, each.splits["public"], features="svd") for each in (source, plain)]
    np.testing.assert_array_equal(found[0].features_array, found[1].features_array)
