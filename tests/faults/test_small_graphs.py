"""Row 21 of the fault table: the smallest graphs there are, in every kernel."""

import pytest
import torch

from lipgnn.kernels import fused
from lipgnn.nn import GATConv, TransformerConv
from lipgnn.runtime import dgl

GRAPHS = {
    "no node": ([], 0),
    "one node": ([], 1),
    "one node with a loop": ([(0, 0)], 1),
    "no edges": ([], 5),
    "one edge": ([(0, 1)], 2),
}


@pytest.mark.parametrize("kernel", ["dgl", "fused"])
@pytest.mark.parametrize("norm", [None, "lip"])
@pytest.mark.parametrize("layer", [GATConv, TransformerConv])
@pytest.mark.parametrize("name", GRAPHS)
def test_every_layer_has_an_output_on_the_smallest_graphs(name, layer, norm, kernel):
    if kernel == "fused" and (obstacle := fused.obstacle(torch.device("cpu"))):
        pytest.skip(obstacle)
    edges, nodes = GRAPHS[name]
    sources, targets = (torch.tensor([edge[end] for edge in edges], dtype=torch.int64) for end in (0, 1))
    graph = dgl.graph((sources, targets), num_nodes=nodes)
    convolution = layer(3, 2, 2, norm=norm, kernel=kernel, allow_zero_in_degree=True)
    features = torch.randn(nodes, 3, requires_grad=True)
    out = convolution(graph, features)
    assert out.shape[0] == nodes and out.isfinite().all()
    out.sum().backward()
    assert features.grad.isfinite().all()
