"""Names of trees, and Alon & Yahav's protocol as a run resolves it."""

import math

import pytest
import torch

from lipgnn.catalog import task_of
from lipgnn.datasets.generated.trees import parse_trees
from lipgnn.errors import UsageError
from lipgnn.nn import KeyValueEmbedding
from lipgnn.spec.sources import resolve
from lipgnn.tasks import load
from lipgnn.tasks.trees import NeighborsMatch


@pytest.mark.parametrize(
    "radius, nodes, permutations, graphs",
    [
        (2, 7, 24, 96),
        (3, 15, 1000, 8000),
        (4, 31, 1000, 16000),
        (5, 63, 1000, 32000),
        (6, 127, 500, 32000),
        (7, 255, 250, 32000),
        (8, 511, 125, 32000),
    ],
)
def test_the_counts_are_those_of_the_protocol(radius, nodes, permutations, graphs):
    trees = parse_trees(f"trees:{radius}")
    assert (trees.nodes, trees.permutations, trees.graphs) == (nodes, permutations, graphs)


def test_fewer_permutations_are_named():
    trees = parse_trees("trees:5:250")
    assert (trees.radius, trees.permutations, trees.graphs) == (5, 250, 250 * 32)


@pytest.mark.parametrize(
    "name", ["trees", "trees:", "trees:1", "trees:9", "trees:-3", "trees:4:", "trees:4:x", "trees:4.0"]
)
def test_impossible_trees_are_wrong_use(name):
    assert isinstance(task_of(name), NeighborsMatch)
    with pytest.raises(UsageError, match="R from 2 to 8"):
        parse_trees(name)


@pytest.mark.parametrize("name", ["trees:2:25", "trees:2:1", "trees:3:40321", "trees:4:99999"])
def test_there_are_only_so_many_permutations(name):
    with pytest.raises(UsageError, match="permutations of"):
        parse_trees(name)
    assert parse_trees("trees:3:32000").permutations <= math.factorial(8)


@pytest.mark.parametrize("name", ["cora", "trees.npz", "my/trees:4", "tree:4"])
def test_other_names_are_not_trees(name):
    assert not isinstance(task_of(name), NeighborsMatch)


@pytest.mark.parametrize(
    "model, norm, residual, activation",
    [
        ("gat", "layer", "identity", "none"),
        ("gcn", "layer", "identity", "relu"),
        ("gin", "layer", "identity", "relu"),
        ("ggnn", "none", "none", "none"),
    ],
)
def test_models_are_those_of_the_protocol(model, norm, residual, activation):
    spec = resolve({"dataset": "trees:6", "model": model}, {}).spec
    assert (spec.norm, spec.residual, spec.activation) == (norm, residual, activation)
    assert (spec.layers, spec.hidden * spec.heads, spec.norm_place) == (7, 32, "sum")
    assert (spec.lr, spec.weight_decay, spec.dropout) == (1e-3, 0, 0)


@pytest.mark.parametrize(
    "radius, batch, every", [(2, 64, 1000), (3, 64, 100), (4, 1024, 100), (6, 1024, 100), (8, 2048, 100)]
)
def test_training_is_that_of_the_protocol(radius, batch, every):
    spec = resolve({"dataset": f"trees:{radius}"}, {}).spec
    assert (spec.batch_size, spec.eval_every, spec.patience, spec.epochs) == (batch, every, 20 * every, 50000)
    assert (spec.schedule, spec.select) == ("halve", "train_score")


def test_what_is_said_beats_the_protocol():
    spec = resolve({"dataset": "trees:4", "norm": "lip+layer", "layers": "7", "kappa": "0.25"}, {}).spec
    assert (spec.norm, spec.layers, spec.kappa) == ("lip+layer", 7, 0.25)


def test_the_edges_are_those_of_all_trees():
    trees = load("trees:3:9")
    assert task_of("trees:3:9").edges("trees:3:9") == trees.trees.graphs * trees.edges.shape[1]
    assert task_of("trees:1").edges("trees:1") is None


def test_fewer_permutations_are_the_same_trees_on_a_smaller_scale():
    task = task_of("trees:5")
    assert task.is_smaller("trees:5:250", "trees:5")
    assert not task.is_smaller("trees:5", "trees:5") and not task.is_smaller("trees:50", "trees:5")


def test_the_ends_of_the_network_look_up_keys_and_values_and_have_no_bias():
    spec = resolve({"dataset": "trees:2", "model": "gat"}, {}).spec
    network = task_of("trees:2").network(spec, 5, 5)
    assert isinstance(network.encoder, KeyValueEmbedding) and network.decoder.bias is None


def test_every_class_has_the_loss_of_cross_entropy():
    logits, labels = torch.randn(9, 4, dtype=torch.float64), torch.randint(4, (9,))
    expected = -torch.stack([logits[i].log_softmax(0)[labels[i]] for i in range(9)]).mean()
    torch.testing.assert_close(task_of("trees:2").loss(logits, labels), expected)
