"""Maxima over neighbours and divided scores, against loops over edges."""

import pytest
import torch

from lipgnn.errors import UsageError
from lipgnn.norms.scores.division import divide, length_over_heads, longest_neighbour, positive


def test_the_longest_neighbour_of_every_node_and_nothing_where_there_is_none(reference):
    graph, length = reference.small_graph(loops=False), reference.normal(0, 7, 2, 1).abs()
    longest = longest_neighbour(graph, length.requires_grad_())
    for node in range(7):
        found = [length[j] for j, i in reference.edges_of(graph) if i == node]
        expected = torch.stack(found).amax(dim=0) if found else torch.zeros(2, 1)
        torch.testing.assert_close(longest[node], expected.to(longest))
    (gradient,) = torch.autograd.grad(longest[6].sum(), length)
    assert not gradient.any(), "nothing enters node 6"


def test_the_length_over_all_heads(reference):
    attn = reference.normal(0, 1, 3, 4)
    torch.testing.assert_close(length_over_heads(attn), attn.square().sum().sqrt().view(1, 1, 1))


def test_scores_are_divided_by_what_their_target_has(reference):
    graph = reference.small_graph()
    scores = reference.normal(0, graph.num_edges(), 2, 1)
    factor, divisor = (reference.normal(seed, 7, 2, 1).abs() for seed in (1, 2))
    targets = graph.edges()[1]
    torch.testing.assert_close(divide(graph, scores, factor, divisor), scores * factor[targets] / divisor[targets])
    assert not graph.edata and not graph.ndata


def test_kappa_is_a_positive_number():
    assert positive(2) == 2.0
    with pytest.raises(UsageError, match="got 0"):
        positive(0)
