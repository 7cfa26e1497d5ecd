"""Diffusion against powers of a dense matrix."""

import numpy as np
import pytest
import torch

from lipgnn.nn.diffusion import EDGES, NODES, Diffusion
from lipgnn.runtime import dgl

NUM_NODES = 6


def make_graph():
    sources = torch.tensor([0, 0, 1, 2, 3, 4, 0, *range(NUM_NODES)])
    targets = torch.tensor([1, 2, 3, 0, 4, 0, 1, *range(NUM_NODES)])
    graph = dgl.graph((sources, targets), num_nodes=NUM_NODES)
    torch.manual_seed(1)
    graph.ndata[NODES] = torch.randn(NUM_NODES, 2).double()
    graph.edata[EDGES] = torch.randn(len(sources), 3).double()
    return graph


def start():
    return torch.rand(NUM_NODES, 4, generator=torch.Generator().manual_seed(2)).double()


def dense(graph, head, hops, x, *, back=False):
    """((Aᵀ)^hops x, scaled), with A made edge by edge."""
    sources, targets = (ends.numpy() for ends in graph.edges(order="eid"))
    if back:
        sources, targets = targets, sources
    weights = np.ones(len(sources))
    if head is not None:
        ends = torch.tensor(sources), torch.tensor(targets)
        weights = head(graph.ndata[NODES], *ends, graph.edata[EDGES]).detach().exp().numpy()
    matrix = np.zeros((NUM_NODES, NUM_NODES))
    for source, target, weight in zip(sources, targets, weights, strict=True):
        matrix[source, target] += weight
    matrix /= matrix.sum(1, keepdims=True)
    y = np.linalg.matrix_power(matrix.T, hops) @ x.numpy()
    np.testing.assert_allclose(y.sum(0), x.numpy().sum(0))
    return y / np.sqrt((y**2).mean(0))


@pytest.mark.parametrize("transitions", ["uniform", "learned"])
@pytest.mark.parametrize("directions", ["forward", "both"])
@pytest.mark.parametrize("hops", [1, 5])
def test_it_is_a_power_of_the_transition_matrix(transitions, directions, hops):
    graph, x = make_graph(), start()
    diffusion = Diffusion(hops, transitions, directions, 2, 3).double()
    expected = [dense(graph, diffusion.forth, hops, x)]
    if directions == "both":
        expected.append(dense(graph, diffusion.back, hops, x, back=True))
    found = diffusion(graph, x)
    np.testing.assert_allclose(found.detach(), np.concatenate(expected, 1), rtol=1e-10)


@pytest.mark.parametrize("directions", ["forward", "both"])
def test_a_table_is_the_same_some_columns_at_a_time(directions, monkeypatch):
    monkeypatch.setattr("lipgnn.nn.diffusion._AT_ONCE", 3)
    diffusion = Diffusion(3, "learned", directions, 2, 3).double()
    torch.testing.assert_close(diffusion.table(make_graph(), start()), diffusion(make_graph(), start()))


def test_gradients_reach_learned_transitions_alone():
    """G11."""
    assert not list(Diffusion(3, "uniform", "both", 2, 3).parameters())
    diffusion = Diffusion(3, "learned", "both", 2, 3).double()
    (diffusion(make_graph(), start()) * torch.randn(NUM_NODES, 8)).sum().backward()
    # The last bias moves all logits alike, which changes no share.
    for name, weight in diffusion.named_parameters():
        assert name.endswith("out.bias") or weight.grad.abs().max() > 1e-6, name
