"""Node classification: its data, batches, loss and score."""

import numpy as np
import pytest
import torch

from lipgnn import datasets
from lipgnn.catalog import DATASETS, task_of
from lipgnn.errors import UsageError
from lipgnn.spec.run import RunSpec
from lipgnn.tasks.nodes import Nodes

TASK = Nodes()


def test_the_loss_is_cross_entropy_and_the_score_the_share_of_right_classes():
    logits, labels = torch.randn(9, 4, dtype=torch.float64), torch.randint(4, (9,))
    expected = -torch.stack([logits[i].log_softmax(0)[labels[i]] for i in range(9)]).mean()
    torch.testing.assert_close(TASK.loss(logits, labels), expected)
    right = np.mean(logits.numpy().argmax(axis=1) == labels.numpy())
    assert TASK.score(logits, labels).item() == pytest.approx(right)


@pytest.mark.parametrize("name", ["cora", "my/graph.npz", "cora:undirected", "mytrees", "planted"])
def test_data_is_of_nodes_unless_its_name_says_otherwise(name):
    assert type(task_of(name)) is Nodes


def test_the_defaults_are_those_of_the_catalog():
    assert TASK.defaults("texas", "gat") == DATASETS["texas"].defaults == {"split": "geom-gcn:0"}
    assert TASK.defaults("texas:undirected", "gat") == DATASETS["texas"].defaults
    assert TASK.defaults("my/graph.npz", "gat") == {"features": "auto"}


@pytest.mark.parametrize(
    "name", [name for name, entry in DATASETS.items() if entry.edges and entry.origin != "data directory"]
)
def test_the_edges_that_the_catalog_knows_are_those_of_the_data(name):
    assert TASK.edges(name) == datasets.count_edges(name)


def test_other_edges_are_counted_or_unknown():
    assert TASK.edges("planted:undirected") == datasets.count_edges("planted")
    assert TASK.edges("nowhere.npz") is None


def test_it_is_identified_as_it_is_loaded():
    data = TASK.load("planted", split="random:1", missing=0.0, features="raw", data_dir=None)
    assert TASK.identify("planted", split="random:1", data_dir=None) == data.fingerprint
    assert data.task == "nodes"


def test_a_reversible_stack_needs_all_nodes_in_every_layer():
    with pytest.raises(UsageError, match="same nodes in every layer"):
        RunSpec(stack="reversible", residual="scaled", batch_size=8)
    RunSpec(stack="reversible", residual="scaled", batch_size=0)
