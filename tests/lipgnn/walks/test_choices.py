"""The probabilities of edges: shares by sender, and among those that may follow."""

from __future__ import annotations

import math

import pytest
import torch
from walkers import DEAD_END, FOUR, draw_logits, make, random_edges

from lipgnn.errors import DataError
from lipgnn.runtime import dgl
from lipgnn.walks import log_choices, log_continuing


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_choices_of_every_sender_sum_to_one(dtype):
    """G1; a node without out-edges has none."""
    edges = random_edges(0, 50, 100)
    logits = draw_logits(0, len(edges), dtype, scale=20)
    sums = torch.zeros(51, dtype=dtype).index_add(
        0, make(edges, 51).sources, log_choices(make(edges, 51), logits).exp()
    )
    torch.testing.assert_close(sums[:50], torch.ones(50, dtype=dtype), rtol=0, atol=1e-6)
    assert sums[50] == 0


def test_choices_are_the_softmax_of_dgl():
    edges = random_edges(1, 30, 60)
    logits = draw_logits(0, len(edges))
    graph = dgl.graph(tuple(zip(*edges, strict=True)), num_nodes=30)
    expected = dgl.ops.edge_softmax(graph, logits, norm_by="src")
    torch.testing.assert_close(log_choices(make(edges, 30), logits).exp(), expected)


@pytest.mark.parametrize("edges", [FOUR, DEAD_END, random_edges(2, 6, 12)])
def test_continuing_is_the_sum_over_what_may_follow(edges):
    logits = draw_logits(0, len(edges))
    found = log_continuing(make(edges, 6), logits)
    for number, (tail, middle) in enumerate(edges):
        values = [math.exp(logits[f]) for f, (source, head) in enumerate(edges) if source == middle and head != tail]
        assert float(found[number]) == pytest.approx(math.log(sum(values)) if values else -math.inf)


def test_gradients():
    graph = make(FOUR, 4)
    logits = draw_logits(0, len(FOUR)).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: log_choices(graph, x), logits)
    assert torch.autograd.gradcheck(lambda x: log_continuing(graph, x).clamp(min=-100), logits)


@pytest.mark.parametrize("logits", [torch.zeros(7), torch.zeros(8, 1), torch.zeros(8, dtype=torch.int64)])
@pytest.mark.parametrize("function", [log_choices, log_continuing])
def test_refuses_logits_that_are_not_one_number_for_every_edge(function, logits):
    with pytest.raises(DataError, match=r"logits must be \(8,\) real numbers"):
        function(make(FOUR, 4), logits)
