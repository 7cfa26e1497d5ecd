"""LayerNorm, equal to torch's and to PyTorch Geometric's."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from lipgnn.errors import UsageError
from lipgnn.norms import LayerNorm

GRAPH = None  # it does not look at the graph


@pytest.fixture
def x(reference) -> torch.Tensor:
    """Nine rows of width 4, far from the origin and of very different lengths."""
    return 5 + torch.linspace(0.1, 10, 9, dtype=torch.float64).view(9, 1) * reference.normal(1, 9, 4)


def test_layer_norm_of_nodes_is_that_of_torch(x, reference):
    theirs = reference.redraw(nn.LayerNorm(4), seed=3)
    ours = LayerNorm(4).double()
    ours.load_state_dict(theirs.state_dict(), strict=True)
    torch.testing.assert_close(ours(GRAPH, x), theirs(x), atol=0, rtol=0)


def test_layer_norm_of_the_graph_standardizes_all_entries_together(x, pyg):
    norm = LayerNorm(4, mode="graph").double()
    assert sum(parameter.numel() for parameter in norm.parameters()) == 2
    out = norm(GRAPH, x).detach()
    assert out.mean().item() == pytest.approx(0, abs=1e-12)
    assert out.std(unbiased=False).item() == pytest.approx(1, rel=1e-4)
    torch.testing.assert_close(out, pyg.norm.LayerNorm(4, affine=False, mode="graph")(x), atol=1e-12, rtol=1e-12)
    with torch.no_grad():
        norm.weight.fill_(3)
        norm.bias.fill_(-1)
    torch.testing.assert_close(norm(GRAPH, x), 3 * out - 1)


def test_unknown_modes_list_the_valid_ones():
    with pytest.raises(UsageError, match="no mode 'nodes'") as caught:
        LayerNorm(4, mode="nodes")
    assert caught.value.hint == "Valid: 'node', 'graph'."
