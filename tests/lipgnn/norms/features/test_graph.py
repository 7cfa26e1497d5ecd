"""GraphNorm: equality with PyTorch Geometric's on one graph and on many, and with its formula written as loops."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from lipgnn.norms import BatchNorm, GraphNorm
from lipgnn.runtime import MEMBERSHIP, dgl

SIZES = (2, 4, 3)


@pytest.fixture
def x(reference) -> torch.Tensor:
    """Nine rows of width 4, far from the origin and of very different lengths."""
    return 5 + torch.linspace(0.1, 10, 9, dtype=torch.float64).view(9, 1) * reference.normal(1, 9, 4)


@pytest.fixture
def norm(reference) -> GraphNorm:
    return reference.redraw(GraphNorm(4), seed=3)


def batch(*sizes: int) -> dgl.DGLGraph:
    """Graphs without edges, of so many nodes each."""
    return dgl.batch([dgl.graph(([], []), num_nodes=size) for size in sizes])


def by_the_book(norm, x, members):
    """The formula, channel by channel."""
    gain, shift, share = (p.detach().numpy() for p in (norm.weight, norm.bias, norm.mean_scale))
    x, out = x.numpy(), np.zeros(x.shape)
    for graph in set(members):
        rows = [i for i, own in enumerate(members) if own == graph]
        for c in range(x.shape[1]):
            mean = sum(x[i, c] for i in rows) / len(rows)
            square = sum((x[i, c] - share[c] * mean) ** 2 for i in rows) / len(rows)
            for i in rows:
                out[i, c] = gain[c] * (x[i, c] - share[c] * mean) / math.sqrt(square + 1e-5) + shift[c]
    return out


@pytest.mark.parametrize("sizes", [(9,), SIZES, (8, 0, 1)], ids=str)
def test_it_is_the_formula_for_every_graph_of_a_batch_on_its_own(sizes, norm, x):
    members = np.repeat(range(len(sizes)), sizes).tolist()
    np.testing.assert_allclose(norm(batch(*sizes), x).detach(), by_the_book(norm, x, members), rtol=1e-12)


def test_nodes_that_say_which_graph_they_are_of_may_be_in_any_order(norm, x):
    members = [0, 1, 2, 0, 1, 2, 0, 1, 0]
    graph = dgl.graph(([], []), num_nodes=9)
    graph.ndata[MEMBERSHIP] = torch.tensor(members)
    np.testing.assert_allclose(norm(graph, x).detach(), by_the_book(norm, x, members), rtol=1e-12)


def test_graphs_of_a_batch_do_not_see_each_other(norm, x):
    alone = [norm(batch(len(rows)), rows) for rows in x.split(SIZES)]
    torch.testing.assert_close(norm(batch(*SIZES), x), torch.cat(alone), rtol=1e-12, atol=1e-12)


def test_where_there_is_no_whole_graph_all_nodes_are_of_one(norm, x):
    block = dgl.create_block(([0, 1], [0, 0]), num_src_nodes=12, num_dst_nodes=9)
    for graph in (None, block):
        torch.testing.assert_close(norm(graph, x), norm(batch(9), x), rtol=0, atol=0)


def test_it_is_that_of_pytorch_geometric(norm, x, pyg):
    theirs = pyg.GraphNorm(4).double()
    theirs.load_state_dict(norm.state_dict(), strict=True)
    torch.testing.assert_close(norm(batch(9), x), theirs(x), rtol=1e-10, atol=1e-10)
    members = torch.arange(3).repeat_interleave(torch.tensor(SIZES))
    torch.testing.assert_close(norm(batch(*SIZES), x), theirs(x, members), rtol=1e-10, atol=1e-10)


def test_on_one_graph_it_starts_as_batch_norm_in_training(x):
    torch.testing.assert_close(GraphNorm(4).double()(None, x), BatchNorm(4).double().train()(None, x))


def test_it_does_not_depend_on_the_order_of_nodes(norm, x):
    order = torch.randperm(9, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(norm(None, x[order]), norm(None, x)[order], rtol=1e-12, atol=1e-12)


def test_gradients_of_a_batch(norm, x):
    graph = batch(*SIZES)
    assert torch.autograd.gradcheck(lambda x: norm(graph, x), x.requires_grad_())


def test_no_bound_of_use_is_known_since_almost_equal_features_are_stretched_hundredfold(x, reference):
    norm = GraphNorm(4).double()
    assert norm.certified(None).reason.startswith("GraphNorm divides")
    nearly_equal = 1 + 1e-6 * x
    stretch = reference.spectral_norm(reference.jacobian(lambda x: norm(None, x), nearly_equal))
    assert stretch > 100
