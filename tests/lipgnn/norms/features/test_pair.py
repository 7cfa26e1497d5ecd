"""PairNorm: what it promises of its output, and equality with PyTorch Geometric's."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from lipgnn.norms import PairNorm

GRAPH = None  # it does not look at the graph


@pytest.fixture
def x(reference) -> torch.Tensor:
    """Nine rows of width 4, far from the origin and of very different lengths."""
    return 5 + torch.linspace(0.1, 10, 9, dtype=torch.float64).view(9, 1) * reference.normal(1, 9, 4)


@pytest.mark.parametrize("scale", [1.0, 3.0])
def test_pair_norm_centres_and_fixes_the_mean_square_length(scale, x):
    out = PairNorm(scale=scale)(GRAPH, x)
    np.testing.assert_allclose(out.mean(dim=0), 0, atol=1e-12)
    assert out.square().sum(dim=1).mean().item() == pytest.approx(scale**2, rel=1e-6)


def test_pair_norm_keeps_the_total_pairwise_distance_whatever_the_input(x):
    def total(rows):
        return torch.cdist(rows, rows).square().sum().item()

    expected = 2 * 9**2 * 3.0**2  # 2 n² s²
    for rows in (x, 100 * x, x + 50, 0.1 * x.flip(1)):
        assert total(PairNorm(scale=3.0)(GRAPH, rows)) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("scale", [1.0, 3.0])
def test_individual_pair_norm_gives_rows_of_one_length_in_the_centred_direction(scale, x):
    out = PairNorm(scale=scale, individually=True)(GRAPH, x)
    np.testing.assert_allclose(out.norm(dim=1), scale, rtol=1e-5)
    centred = x - x.mean(dim=0)
    torch.testing.assert_close(out / scale, nn.functional.normalize(centred, dim=1), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("scale", [1.0, 3.0])
def test_pair_norm_is_that_of_pytorch_geometric(scale, x, pyg):
    theirs = pyg.norm.PairNorm(scale=scale, eps=1e-6)
    torch.testing.assert_close(PairNorm(scale=scale)(GRAPH, x), theirs(x), atol=1e-12, rtol=1e-12)
    # PyTorch Geometric adds its ε outside of the root for PN-SI.
    theirs = pyg.norm.PairNorm(scale=scale, scale_individually=True, eps=0.0)
    ours = PairNorm(scale=scale, individually=True, eps=0.0)
    torch.testing.assert_close(ours(GRAPH, x), theirs(x), atol=1e-12, rtol=1e-12)
