"""BatchNorm, equal to torch's."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from lipgnn.norms import BatchNorm

GRAPH = None  # it does not look at the graph


@pytest.fixture
def x(reference) -> torch.Tensor:
    """Nine rows of width 4, far from the origin and of very different lengths."""
    return 5 + torch.linspace(0.1, 10, 9, dtype=torch.float64).view(9, 1) * reference.normal(1, 9, 4)


def test_batch_norm_is_that_of_torch_in_training_and_evaluation(x, reference):
    theirs = reference.redraw(nn.BatchNorm1d(4), seed=3)
    ours = BatchNorm(4).double()
    ours.norm.load_state_dict(theirs.state_dict(), strict=True)
    for training in (True, True, False):
        ours.train(training), theirs.train(training)
        torch.testing.assert_close(ours(GRAPH, x), theirs(x), atol=0, rtol=0)


def test_the_bound_is_that_of_the_diagonal_map_it_is_in_evaluation(x, reference):
    norm = reference.redraw(BatchNorm(4), seed=3)
    norm(GRAPH, x)
    norm.eval()
    stretch = reference.spectral_norm(reference.jacobian(lambda x: norm(GRAPH, x), x))
    assert norm.certified(GRAPH).value == pytest.approx(stretch, rel=1e-12)
