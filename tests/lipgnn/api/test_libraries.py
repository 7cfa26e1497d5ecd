import importlib.util
import warnings
from types import SimpleNamespace

import networkx
import numpy as np
import pytest
import torch

import lipgnn
from lipgnn.api.libraries import as_data
from lipgnn.datasets import load, prepare
from lipgnn.errors import DataError
from lipgnn.runtime import dgl


@pytest.fixture(scope="module")
def cora():
    return load("cora")


@pytest.fixture(scope="module")
def edges(cora):
    """Every edge in both directions, as the other libraries have it."""
    return torch.tensor(np.concatenate([cora.source.edges, cora.source.edges[::-1]], axis=1))


def same(source, cora):
    """Equal graph, features, labels and split."""
    return prepare(source, source.splits["public"]).fingerprint == cora.fingerprint


def masks_of(cora):
    return {f"{part}_mask": torch.tensor(mask) for part, mask in cora.split.parts.items()}


def pyg_data(**parts):
    """PyTorch Geometric's own Data where it is installed, and else something with its attributes."""
    if importlib.util.find_spec("torch_geometric"):
        with warnings.catch_warnings():
            # PyG uses what torch no longer recommends.
            warnings.simplefilter("ignore", DeprecationWarning)
            from torch_geometric.data import Data

        return Data(**parts)
    return SimpleNamespace(num_nodes=len(parts["x"]), **parts)


def test_cora_of_pyg_is_cora(cora, edges):
    data = pyg_data(x=cora.features.to_dense(), edge_index=edges, y=cora.labels, **masks_of(cora))
    made = lipgnn.from_pyg(data, name="cora")
    assert same(made, cora) and not made.directed and same(as_data(data), cora)
    assert lipgnn.from_pyg(data, masks=None).splits == {}


def test_cora_of_dgl_is_cora(cora, edges):
    graph = dgl.graph(tuple(edges), num_nodes=cora.num_nodes)
    graph.ndata.update(feat=cora.features.to_dense(), label=cora.labels, **masks_of(cora))
    assert same(lipgnn.from_dgl(graph), cora) and same(as_data(graph), cora)
    masks = list(masks_of(cora).values())
    assert same(lipgnn.from_dgl(graph, cora.features, cora.labels, masks), cora)
    assert lipgnn.from_dgl(graph, labels="nowhere", masks=None).labelled.sum() == 0


def test_the_order_of_edges_of_dgl_is_that_of_their_types():
    graph = dgl.graph((torch.tensor([2, 0, 1]), torch.tensor([0, 1, 2])))
    graph.edata["edge_type"] = torch.tensor([2, 0, 1])
    graph.ndata["feat"] = torch.eye(3)
    made = lipgnn.from_dgl(graph)
    assert dict(zip(made.edges[0].tolist(), made.edge_types.tolist(), strict=True)) == {2: 2, 0: 0, 1: 1}
    assert made.directed


def test_several_splits_of_pyg():
    masks = {
        f"{part}_mask": torch.eye(4, dtype=torch.bool).roll(k, 0)[:, :3]
        for k, part in enumerate(("train", "val", "test"))
    }
    data = pyg_data(x=torch.eye(4), edge_index=torch.tensor([[0], [1]]), y=torch.tensor([0, 1, 0, 1]), **masks)
    assert list(lipgnn.from_pyg(data).splits) == ["0", "1", "2"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"edge_weight": torch.ones(1)}, "'edge_weight' would be lost"),
        ({"edge_attr": torch.ones(1, 2)}, "'edge_attr' would be lost"),
        ({"edge_index": None}, "without one edge_index"),
        ({"train_mask": torch.ones(2, dtype=torch.bool)}, "no 'val_mask' beside"),
    ],
)
def test_what_pyg_has_more_is_not_lost_in_silence(change, words):
    parts = {"x": torch.eye(2), "edge_index": torch.tensor([[0], [1]]), "y": torch.tensor([0, 1]), **change}
    with pytest.raises(DataError, match=words):
        lipgnn.from_pyg(pyg_data(**parts))
    if "edge_weight" in change:
        assert lipgnn.from_pyg(pyg_data(**parts), ignore=["edge_weight"]).num_nodes == 2


def test_what_dgl_has_more_is_not_lost_in_silence():
    graph = dgl.graph(([0], [1]))
    graph.edata["weight"] = torch.ones(1)
    with pytest.raises(DataError, match="'weight' would be lost"):
        lipgnn.from_dgl(graph)
    assert lipgnn.from_dgl(graph, ignore="weight").num_features == 0
    several = dgl.heterograph({("a", "to", "b"): ([0], [1])})
    with pytest.raises(DataError, match="2 types of nodes"):
        lipgnn.from_dgl(several)


def test_networkx_with_names_attributes_and_types():
    graph = networkx.DiGraph()
    graph.add_node("ann", x=[1, 0], label="red", split="train", age=3)
    graph.add_node(("b", 2), x=[0, 1], label="blue", split="test", age=4)
    graph.add_node(7, x=[1, 1], age=5)
    graph.add_edge("ann", 7, type="knows")
    graph.add_edge(7, ("b", 2), type="likes")
    made = lipgnn.from_networkx(graph)
    assert made.node_ids.tolist() == ["ann", "('b', 2)", "7"] and made.directed
    assert made.labels.tolist() == [1, 0, -1] and made.class_names == ("blue", "red")
    assert sorted(zip(*made.edges.tolist(), made.edge_types.tolist(), strict=True)) == [(0, 2, 0), (2, 1, 1)]
    assert made.splits["public"].train.tolist() == [True, False, False]
    np.testing.assert_array_equal(made.features, [[1, 0], [0, 1], [1, 1]])
    assert lipgnn.from_networkx(graph, ["age"]).features.tolist() == [[3], [4], [5]]
    assert lipgnn.from_networkx(graph, np.eye(3), labels=[0, 1, 1]).num_features == 3
    assert not lipgnn.from_networkx(graph.to_undirected()).directed
    assert as_data(graph).num_nodes == 3


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda g: g.add_edge(0, 1, weight=2.0), "'weight' would be lost"),
        (lambda g: g.nodes[0].update(split="dev"), "'dev' at a node"),
        (lambda g: g.nodes[0].update(x=1.0), "1 of 2 nodes lack the attribute 'x'"),
        (lambda g: (g.add_edge(0, 0), g.add_edge(0, 1, type="a")), "1 of 2 edges have the attribute 'type'"),
    ],
)
def test_what_networkx_cannot_say_is_refused(change, words):
    graph = networkx.Graph()
    graph.add_nodes_from([0, 1])
    change(graph)
    with pytest.raises(DataError, match=words):
        lipgnn.from_networkx(graph)
    with pytest.raises(DataError, match="No node has the attribute 'height'"):
        lipgnn.from_networkx(networkx.path_graph(2), ["height"])


def test_features_take_the_place_of_a_graphs_own():
    source = lipgnn.from_arrays([[0], [1]], np.eye(2), ["a", "b"])
    changed = as_data(source, np.ones((2, 5)))
    assert changed.num_features == 5 and changed.class_names == ("a", "b") and as_data(source) is source
