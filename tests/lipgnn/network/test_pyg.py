"""A whole network with linear residuals and BatchNorm beside the same one written with PyTorch Geometric."""

import pytest
import torch
from networks import bare
from pyg_network import PygNetwork


@pytest.mark.parametrize("kernel", ["dgl", "auto"])
@pytest.mark.parametrize("training", [True, False])
def test_a_network_with_linear_residuals_is_that_of_pyg(kernel, training, reference):
    graph, x = reference.small_graph(), reference.normal(0, 7, 3)
    options = {"layers": 4, "hidden": 6, "heads": 1, "norm": "batch", "residual": "linear", "bias": "none"}
    ours = reference.redraw(bare(3, 2, activation="relu", kernel=kernel, **options), 1).train(training)
    theirs = PygNetwork(3, 2, layers=4, width=6, dropout=0.0).double().copy_from(ours).train(training)
    edges, leaves = torch.stack(graph.edges()), [x.clone().requires_grad_() for _ in range(2)]
    found, expected = ours(graph, leaves[0]), theirs(edges, leaves[1])
    torch.testing.assert_close(found, expected, atol=1e-6, rtol=1e-6)
    weights = torch.linspace(-1, 1, found.numel(), dtype=found.dtype).view_as(found)
    pairs = zip((found, expected), leaves, strict=True)
    gradients = [torch.autograd.grad((out * weights).sum(), leaf)[0] for out, leaf in pairs]
    torch.testing.assert_close(*gradients, atol=1e-6, rtol=1e-6)
    for block, norm in zip(ours.blocks, theirs.norms, strict=True):
        (statistics,) = [part for part in block.norm.modules() if isinstance(part, torch.nn.BatchNorm1d)]
        torch.testing.assert_close(statistics.running_var, norm.running_var)
