"""Attention with divisors: equal to loops over edges, whether a divisor is given once or for every node."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from lipgnn.kernels.adjacency import Adjacency
from lipgnn.kernels.triton.attention import Attention


def scores_of(edges, query, key, query_size, key_size, additive):
    scores = np.zeros((len(edges), query.shape[1]))
    for e, (j, i) in enumerate(edges):
        for h in range(query.shape[1]):
            raw = query[i, h, 0] + key[j, h, 0] if additive else query[i, h] @ key[j, h]
            t = raw / query_size[i, h, 0] / key_size[i, h, 0]
            scores[e, h] = t if t > 0 else 0.3 * t
    return scores


@pytest.mark.parametrize("additive", [True, False])
def test_equals_loops_over_edges(additive, interpreter, reference):
    graph, width = reference.small_graph(), 1 if additive else 3
    query, key = (reference.normal(seed, 7, 3, width) for seed in (0, 1))
    value, query_size, key_size = (
        reference.normal(2, 7, 3, 5),
        reference.normal(3, 7, 3, 1).exp(),
        torch.rand(7, 3, 1) + 1,
    )
    out = Attention.apply(query, key, value, query_size, key_size.double(), Adjacency.of(graph), additive, 0.3, 0.0, 0)
    edges = reference.edges_of(graph)
    scores = scores_of(edges, *(t.numpy() for t in (query, key, query_size, key_size)), additive)
    np.testing.assert_allclose(out, reference.attend(edges, scores, value.numpy())[0], atol=1e-12)


@pytest.mark.parametrize("additive", [True, False])
def test_a_divisor_for_all_nodes_is_one_for_each(additive, interpreter, reference):
    graph, width = reference.build([(0, 1), (1, 1), (1, 0), (2, 0), (0, 0)], nodes=3), 1 if additive else 2
    query, key, value = reference.normal(0, 3, 2, width), reference.normal(1, 3, 2, width), reference.normal(2, 3, 2, 2)
    sizes = reference.normal(3, 2, 1, 2, 1).exp()
    results = []
    for expand in (False, True):
        given = [size.clone().requires_grad_() for size in sizes]
        passed = [size.expand(3, 2, 1) if expand else size for size in given]
        out = Attention.apply(query, key, value, *passed, Adjacency.of(graph), additive, 0.2, 0.0, 0)
        out.square().sum().backward()
        results.append((out.detach(), *(size.grad for size in given)))
    assert all(part.any() for part in results[0])
    torch.testing.assert_close(results[0], results[1], rtol=0, atol=1e-14)
