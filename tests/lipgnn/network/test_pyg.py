"""A whole network with linear residuals and BatchNorm beside the same one written with PyTorch Geometric.

Without an encoder it is that of Luo et al. (NeurIPS 2024), whose first layer takes the features themselves.
"""

import pytest
import torch
from networks import bare
from pyg_network import PygNetwork


@pytest.mark.parametrize("kernel", ["dgl", "auto"])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("encoder, in_feats", [("linear", 3), ("none", 3), ("none", 6), ("none", 11)])
def test_a_network_with_linear_residuals_is_that_of_pyg(encoder, in_feats, kernel, training, reference):
    graph, x = reference.small_graph(), reference.normal(0, 7, in_feats)
    options = {"layers": 4, "hidden": 6, "heads": 1, "norm": "batch", "residual": "linear", "bias": "none"}
    ours = bare(in_feats, 2, activation="relu", kernel=kernel, encoder=encoder, **options)
    reference.redraw(ours, 1).train(training)
    theirs = PygNetwork(in_feats, 2, layers=4, width=6, dropout=0.0, encoder=encoder == "linear").double()
    theirs.copy_from(ours).train(training)
    edges, leaves = torch.stack(graph.edges()), [x.clone().requires_grad_() for _ in range(2)]
    found, expected = ours(graph, leaves[0]), theirs(edges, leaves[1])
    torch.testing.assert_close(found, expected, atol=1e-10, rtol=1e-10)
    weights = torch.linspace(-1, 1, found.numel(), dtype=found.dtype).view_as(found)
    pairs = zip((found, expected), leaves, strict=True)
    gradients = [torch.autograd.grad((out * weights).sum(), leaf)[0] for out, leaf in pairs]
    torch.testing.assert_close(*gradients, atol=1e-10, rtol=1e-10)
    for block, norm in zip(ours.blocks, theirs.norms, strict=True):
        (statistics,) = [part for part in block.norm.modules() if isinstance(part, torch.nn.BatchNorm1d)]
        torch.testing.assert_close(statistics.running_var, norm.running_var)
