"""Kinds of nodes: those of a kind have the same subtree, and the layers on kinds are the layers on whole trees."""

import pytest
import torch
from networks import network_of

from lipgnn.network.recompute import run_blocks
from lipgnn.spec.sources import resolve
from lipgnn.tasks import load
from lipgnn.tasks.batches.subtrees import Subtrees
from lipgnn.tasks.batches.trees import TreeBatches

CPU = torch.device("cpu")


@pytest.mark.parametrize(
    "name, layers", [("trees:2", 3), ("trees:3:30", 4), ("trees:4:9", 5), ("trees:4:9", 4), ("trees:5:3", 6)]
)
@pytest.mark.parametrize("model", ["gat", "ggnn"])
def test_the_top_of_every_graph_is_that_of_the_whole_tree(name, layers, model):
    """After all layers but two, for the root, its children and theirs in every graph."""
    spec = resolve({"dataset": name, "layers": layers, "model": model, "batch_size": 0}, {}).spec
    data = load(name)
    network = network_of(spec, data.num_features, data.num_classes)
    subtrees = Subtrees.of(data, layers, CPU)
    blocks = network.blocks[:-2]
    with torch.no_grad():
        found = run_blocks(blocks, subtrees.hops, network.encoder(subtrees.features))[subtrees.top.flatten()]
        whole = TreeBatches(spec, data, CPU).whole()
        graph, features = whole.graph, whole.features
        whole = run_blocks(blocks, graph, network.encoder(features))
    torch.testing.assert_close(found, whole[: len(found)], rtol=1e-4, atol=1e-5)


def test_kinds_are_as_many_as_there_are_different_subtrees():
    """Radius 2, one layer: four keys at four leaves with four values, two parents of ordered pairs, four roots."""
    subtrees = Subtrees.of(load("trees:2"), 3, CPU)
    assert subtrees.features.shape == (2, 16 + 1 + 4)
    (hop,) = subtrees.hops
    assert hop.targets == 16 + 2 * 12 + 4
    # Beside them, the sixteen leaves are there as children of the parents, and an inner node as child of the roots.
    assert hop.graph.num_nodes() == subtrees.rows == hop.targets + 16 + 1
    assert hop.graph.in_degrees(torch.arange(hop.targets)).bincount().tolist() == [0, 16, 0, 28]
