"""Prepared edges against a definition with sets, and what the fingerprint does and does not depend on."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from lipgnn.datasets import Split
from lipgnn.datasets.prepare import fingerprint, prepare_edges, prepare_types

PAIRS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=12)


def _edges(pairs) -> np.ndarray:
    return np.array(pairs, dtype=np.int64).reshape(-1, 2).T


def _fingerprint(source) -> str:
    return fingerprint(source, prepare_edges(source), source.splits["public"])


@given(pairs=PAIRS, directed=st.booleans())
def test_edges_equal_their_definition(make_source, pairs, directed):
    expected = {(u, v) for u, v in pairs} | {(v, v) for v in range(6)}
    if not directed:
        expected |= {(v, u) for u, v in pairs}
    prepared = prepare_edges(make_source(edges=_edges(pairs), directed=directed))
    listed = [tuple(edge) for edge in prepared.T.tolist()]
    assert listed == sorted(expected, key=lambda edge: (edge[1], edge[0]))


def test_no_edges_leave_the_self_loops(make_source):
    assert prepare_edges(make_source(edges=_edges([]))).tolist() == [list(range(6))] * 2


@settings(max_examples=50)
@given(pairs=PAIRS, order=st.randoms(use_true_random=False), directed=st.booleans())
def test_order_duplicates_self_loops_and_storage_do_not_matter(make_source, pairs, order, directed):
    source = make_source(edges=_edges(pairs), directed=directed)
    shuffled = [*pairs, *pairs[:3], (2, 2)]
    order.shuffle(shuffled)
    if not directed:
        shuffled = [edge if order.random() < 0.5 else edge[::-1] for edge in shuffled]
    stored = sparse.csr_array(source.features).astype(np.float32)
    stored.data = np.append(stored.data, np.float32(0))  # a stored zero in the last row
    stored.indices = np.append(stored.indices, stored.indices.dtype.type(0))
    stored.indptr[-1] += 1
    again = make_source(edges=_edges(shuffled), features=stored, directed=directed)
    assert _fingerprint(again) == _fingerprint(source)


@settings(max_examples=50)
@given(node=st.integers(0, 5), column=st.integers(0, 1))
def test_any_change_of_content_changes_it(make_source, node, column):
    source = make_source()
    features, labels = source.features.copy(), source.labels.copy()
    features[node, column] += 1
    labels[node] += 1
    split = source.splits["public"]
    masks = [mask.copy() for mask in split.parts.values()]
    masks[column][4] ^= True
    changed = [
        fingerprint(make_source(features=features), prepare_edges(source), split),
        fingerprint(make_source(labels=labels), prepare_edges(source), split),
        _fingerprint(make_source(edges=np.append(source.edges, [[5], [node % 5]], axis=1))),
        _fingerprint(make_source(directed=True)),
        fingerprint(source, prepare_edges(source), Split(*masks)),
        _fingerprint(make_source(features=np.pad(source.features, ((0, 0), (0, 1))))),
    ]
    assert len({_fingerprint(source), *changed}) == len(changed) + 1


def test_direction_counts_even_where_the_edges_agree(make_source):
    both_ways = _edges([(0, 1), (1, 0)])
    directed, undirected = (make_source(edges=both_ways, directed=flag) for flag in (True, False))
    np.testing.assert_array_equal(prepare_edges(directed), prepare_edges(undirected))
    assert _fingerprint(directed) != _fingerprint(undirected)


def test_names_and_origins_do_not_count(make_source):
    assert _fingerprint(make_source(name="other", origin="elsewhere")) == _fingerprint(make_source())


@pytest.mark.parametrize("source", ["make_source", "sparse_source"])
def test_sixteen_hex_digits(request, source):
    value = request.getfixturevalue(source)
    text = _fingerprint(value() if callable(value) else value)
    assert len(text) == 16 and set(text) <= set("0123456789abcdef")


def test_several_labels_count_each(make_source):
    labels = np.array([[0, 1], [1, 1], [0, 0], [1, 0], [0, np.nan], [np.nan, np.nan]], dtype=np.float32)
    seen = {_fingerprint(make_source(labels=labels))}
    for node, task in np.ndindex(5, 2):
        changed = labels.copy()
        changed[node, task] = 1 - labels[node, task] if labels[node, task] == labels[node, task] else 0
        seen.add(_fingerprint(make_source(labels=changed)))
    assert len(seen) == 11


def test_a_source_without_features_has_a_fingerprint_of_its_own(make_source):
    without = make_source(features=np.empty((6, 0), np.float32))
    assert _fingerprint(without) != _fingerprint(make_source(features=np.zeros((6, 1), np.float32)))


@pytest.mark.parametrize("rows", [1, 4, 6, 100])
def test_dense_features_are_looked_at_in_pieces_of_any_size(make_source, monkeypatch, rows):
    # By sys.modules, because the package has a function of the module's name.
    monkeypatch.setattr(sys.modules["lipgnn.datasets.prepare"], "_ROWS", rows)
    dense = make_source()
    assert _fingerprint(dense) == _fingerprint(make_source(features=sparse.csr_array(dense.features)))


TYPED = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 2)), max_size=12)


def _typed(make_source, triples, **options):
    types = np.array([kind for *_, kind in triples], dtype=np.int64)
    return make_source(edges=_edges([pair for *pair, _ in triples]), edge_types=types, **options)


@given(triples=TYPED, directed=st.booleans())
def test_typed_edges_equal_their_definition(make_source, triples, directed):
    source = _typed(make_source, triples, directed=directed)
    own = 1 + max([kind for *_, kind in triples], default=-1)
    expected = {(u, v, kind) for u, v, kind in triples if u != v} | {(v, v, own) for v in range(6)}
    if not directed:
        expected |= {(v, u, kind) for u, v, kind in triples if u != v}
    prepared = np.concatenate([prepare_edges(source), prepare_types(source)[None]])
    listed = [tuple(edge) for edge in prepared.T.tolist()]
    assert listed == sorted(expected, key=lambda edge: (edge[1], edge[0], edge[2]))


@given(triples=TYPED, order=st.randoms(use_true_random=False))
def test_the_order_of_typed_edges_does_not_matter_and_their_types_do(make_source, triples, order):
    before = _fingerprint(_typed(make_source, triples))
    shuffled = [*triples, *triples[:3]]
    order.shuffle(shuffled)
    assert _fingerprint(_typed(make_source, shuffled)) == before
    assert _fingerprint(make_source(edges=_edges([pair for *pair, _ in triples]))) != before
    further = [(u, v, 2 - kind) for u, v, kind in triples]
    # All self-loops have one type, whatever they had.
    known, other = ({(frozenset((u, v)), kind) for u, v, kind in some if u != v} for some in (triples, further))
    if known != other:
        assert _fingerprint(_typed(make_source, further)) != before


def test_edges_without_types_have_none(make_source):
    assert prepare_types(make_source()) is None
