"""Samples have the frequencies of their probabilities, and are the same for the same seed."""

from __future__ import annotations

from collections import Counter

import pytest
import torch
from walkers import DEAD_END, FOUR, all_paths, draw_logits, make, random_edges

from lipgnn.errors import DataError, UsageError
from lipgnn.walks import EdgePaths, WalkGraph, path_log_likelihood, sample_paths

KINDS = ["plain", "nb"]


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("edges", [FOUR, DEAD_END], ids=["four", "dead end"])
@pytest.mark.parametrize("kind", KINDS)
def test_frequencies_are_probabilities(kind, edges):
    """Pearson's χ² over all paths lies within five standard deviations of what it is for the right probabilities."""
    nodes, count, steps = 1 + max(max(edge) for edge in edges), 20_000, 3
    logits, start = draw_logits(0, len(edges)), torch.tensor([2.0, 1.0, 0, 0], dtype=torch.float64)[:nodes]
    found = sample_paths(make(edges, nodes), logits, start, steps, count, kind, seeded())
    expected = {
        (node, *path): share * probability
        for node, share in ((0, 2 / 3), (1, 1 / 3))
        for path, probability in all_paths(edges, logits.tolist(), node, steps, kind)
    }
    drawn = [(node, *path) for node, path in zip(found.starts.tolist(), found.edges.tolist(), strict=True)]
    frequency = Counter(drawn)
    assert frequency.keys() <= expected.keys()
    chi_square = sum((frequency[path] - count * p) ** 2 / (count * p) for path, p in expected.items())
    freedom = len(expected) - 1
    assert abs(chi_square - freedom) < 5 * (2 * freedom) ** 0.5
    assert found.log_probability.exp().tolist() == pytest.approx([expected[path] for path in drawn])


@pytest.mark.parametrize("kind", KINDS)
def test_log_probabilities_are_those_of_the_likelihood(kind):
    edges = random_edges(0, 40, 60)
    logits, steps = draw_logits(0, len(edges), torch.float32), 12
    start = torch.ones(40)
    found = sample_paths(make(edges, 40), logits, start, steps, 50, kind, seeded())
    previous = torch.cat([torch.full((50, 1), -1), found.edges[:, :-1]], 1)
    window = torch.arange(50).repeat_interleave(steps)
    path = EdgePaths(found.edges.flatten(), previous.flatten(), window, 50)
    torch.testing.assert_close(path.sums(path_log_likelihood(make(edges, 40), logits, path, kind)), found.log_path)
    torch.testing.assert_close(found.log_start, torch.full((50,), 1 / 40).log())


def test_the_same_seed_draws_the_same():
    graph, logits, start = make(FOUR, 4), draw_logits(0, 8), torch.ones(4, dtype=torch.float64)
    one, two, other = (sample_paths(graph, logits, start, 5, 30, "nb", seeded(seed)) for seed in (1, 1, 2))
    assert torch.equal(one.edges, two.edges)
    assert not torch.equal(one.edges, other.edges)


def test_no_steps_are_a_start_alone():
    found = sample_paths(make(FOUR, 4), torch.zeros(8), torch.tensor([0, 0, 1.0, 0]), 0, 3, "plain", seeded())
    assert (found.starts.tolist(), found.edges.shape, found.log_probability.tolist()) == ([2] * 3, (3, 0), [0] * 3)


def test_refuses_what_cannot_be_drawn():
    graph, logits, start = make([(0, 1)], 2), torch.zeros(1), torch.tensor([1.0, 0])
    for kind in KINDS:
        assert sample_paths(graph, logits, start, 1, 2, kind, seeded()).edges.tolist() == [[0], [0]]
        with pytest.raises(DataError, match="without an outgoing edge"):
            sample_paths(graph, logits, start, 2, 2, kind, seeded())
    with pytest.raises(DataError, match="The start must be mass on 2 nodes"):
        sample_paths(graph, logits, torch.zeros(2), 1, 2, "plain", seeded())
    with pytest.raises(UsageError, match="at least 0 steps and 1 sample"):
        sample_paths(graph, logits, start, 1, 0, "plain", seeded())
    with pytest.raises(UsageError, match="Unknown walk"):
        sample_paths(graph, logits, start, 1, 1, "back", seeded())
    two = WalkGraph(torch.tensor([0]), torch.tensor([0]), 2, torch.tensor([0, 1]), torch.tensor([1, 1]))
    with pytest.raises(UsageError, match="one window at a time, and there are 2"):
        sample_paths(two, logits, start, 1, 1, "plain", seeded())
