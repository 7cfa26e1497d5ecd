import numpy as np
import pytest
import torch
from scipy import sparse

import lipgnn
from lipgnn.datasets import load, prepare
from lipgnn.errors import DataError

EDGES = [[0, 1, 2], [1, 2, 3]]
FEATURES = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, 0.0]]


def test_cora_in_parts_is_cora():
    """The fingerprint covers edges, features, labels and split."""
    cora = load("cora")
    source = cora.source
    masks = {part: torch.tensor(mask) for part, mask in cora.split.parts.items()}
    edges, labels = torch.tensor(source.edges), torch.tensor(source.labels)
    own = lipgnn.from_arrays(edges, source.features, labels, masks=masks, class_names=source.class_names)
    assert prepare(own, own.splits["public"]).fingerprint == cora.fingerprint
    dense = lipgnn.from_arrays(source.edges.T, cora.features.to_dense(), labels, masks=list(masks.values()))
    assert prepare(dense, dense.splits["public"]).fingerprint == cora.fingerprint
    sparse_features = lipgnn.from_arrays(edges, cora.features, labels, masks=masks).features
    assert (sparse_features != source.features).nnz == 0


@pytest.mark.parametrize(
    ("labels", "numbers", "names"),
    [
        ([1, 0, -1, 2], [1, 0, -1, 2], None),
        (np.array([1.0, 0.0, -1.0, 2.0]), [1, 0, -1, 2], None),
        (torch.tensor([[1], [0], [-1], [2]]), [1, 0, -1, 2], None),
        ([True, False, True, True], [1, 0, 1, 1], None),
        (["b", "a", "", None], [1, 0, -1, -1], ("a", "b")),
        (None, [-1] * 4, None),
    ],
)
def test_labels_in_every_form(labels, numbers, names):
    made = lipgnn.from_arrays(EDGES, FEATURES, labels)
    assert made.labels.tolist() == numbers and made.class_names == names


def test_several_labels():
    made = lipgnn.from_arrays(EDGES, FEATURES, np.array([[0, 1], [1, 0], [np.nan, 1], [0, 0]]))
    assert made.several_labels and made.num_classes == 2


@pytest.mark.parametrize(
    "masks",
    [
        {"train": [True, False, False, False], "val": [1], "test": np.array([2, 3])},
        ([0], torch.tensor([False, True, False, False]), np.array([0, 0, 1, 1], dtype=np.uint8)),
    ],
)
def test_masks_in_every_form(masks):
    split = lipgnn.from_arrays(EDGES, FEATURES, [0, 1, 0, 1], masks=masks).splits["public"]
    assert [mask.nonzero()[0].tolist() for mask in split.parts.values()] == [[0], [1], [2, 3]]


def test_several_splits():
    train, val, test = np.eye(4, dtype=bool)[:, :2], np.eye(4, dtype=bool)[:, 1:3], np.eye(4, dtype=bool)[:, 2:]
    made = lipgnn.from_arrays(EDGES, FEATURES, [0, 1, 0, 1], masks=(train, val, test))
    assert list(made.splits) == ["0", "1"] and made.splits["1"].test.tolist() == [False, False, False, True]


def test_directions():
    def directed(edges, **options):
        return lipgnn.from_arrays(edges, FEATURES, **options).directed

    assert directed(EDGES) is False and directed(EDGES, directed=True) is True
    assert directed(EDGES, directed=None) is True
    assert directed([[0, 1, 2, 1], [1, 0, 1, 2]], directed=None) is False


def test_what_else_it_takes():
    made = lipgnn.from_arrays([], num_nodes=3, node_ids=[7, "x", (1, 2)], name="no-edges")
    assert made.edges.shape == (2, 0) and made.num_features == 0 and made.node_ids.tolist() == ["7", "x", "(1, 2)"]
    typed = lipgnn.from_arrays(EDGES, FEATURES, edge_types=[0, 1, 0])
    assert typed.num_edge_types == 2 and lipgnn.from_arrays(EDGES, [1, 2, 3, 4]).num_features == 1


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: lipgnn.from_arrays([[0.5], [1]], FEATURES), "edges are float64 with fractions"),
        (lambda: lipgnn.from_arrays([["a"], ["b"]], FEATURES), "edges are <U1, not whole numbers"),
        (lambda: lipgnn.from_arrays([[0], [9]], FEATURES), "an edge names node 9"),
        (lambda: lipgnn.from_arrays(EDGES, [["x"]] * 4), "Features are <U1, not numbers"),
        (lambda: lipgnn.from_arrays(EDGES, FEATURES, [0, 1]), "labels are int64 of shape"),
        (lambda: lipgnn.from_arrays(EDGES, FEATURES, [0.5, 1, 1, 1]), "labels are float64 with fractions"),
        (lambda: lipgnn.from_arrays(EDGES, FEATURES, masks={"train": [0]}), "Masks are of train, val, test"),
        (lambda: lipgnn.from_arrays(EDGES, FEATURES, masks=([0], [1], [7])), "The test mask is neither"),
        (lambda: lipgnn.from_arrays(EDGES, FEATURES, masks=([0], [1], np.eye(4, dtype=bool))), "different shapes"),
        (lambda: lipgnn.from_arrays(EDGES, FEATURES, name="a:b"), "cannot be the name"),
        (lambda: lipgnn.from_scipy(sparse.csr_array(np.ones((2, 3)))), "An adjacency matrix is square"),
        (lambda: lipgnn.from_scipy(sparse.csr_array(np.full((2, 2), 0.5)), np.eye(2)), "weights of edges"),
    ],
)
def test_what_does_not_fit_is_refused(call, words):
    with pytest.raises(DataError, match=words):
        call()


def test_scipy_lists_edges_from_rows_to_columns():
    matrix = sparse.lil_array((3, 3))
    matrix[0, 1] = matrix[2, 1] = 1
    made = lipgnn.from_scipy(matrix.tocsc(), np.eye(3), [0, 1, 1])
    assert sorted(zip(*made.edges.tolist(), strict=True)) == [(0, 1), (2, 1)] and made.directed
    assert not lipgnn.from_scipy(sparse.csr_array(np.ones((3, 3), dtype=bool)), np.eye(3)).directed
