"""Likelihoods of paths and choices: as going through every path by hand."""

from __future__ import annotations

import math

import pytest
import torch
from walkers import DEAD_END, FOUR, all_paths, draw_logits, following, make, random_edges

from lipgnn.errors import DataError, UsageError
from lipgnn.walks import EdgePaths, choice_hits, path_log_likelihood

KINDS = ["plain", "nb"]


def given_paths(paths):
    """Tuples of edges as one window each."""
    edges = [edge for path in paths for edge in path]
    previous = [before for path in paths for before in (-1, *path[:-1])][: len(edges)]
    window = [number for number, path in enumerate(paths) for _ in path]
    return EdgePaths(torch.tensor(edges), torch.tensor(previous), torch.tensor(window), len(paths))


@pytest.mark.parametrize("steps", [1, 2, 4])
@pytest.mark.parametrize("edges", [FOUR, DEAD_END, random_edges(0, 4, 4)], ids=["four", "dead end", "any"])
@pytest.mark.parametrize("kind", KINDS)
def test_likelihoods_are_the_probabilities_of_enumerated_paths_and_sum_to_one(kind, edges, steps):
    """G6."""
    logits = draw_logits(steps, len(edges))
    paths, probabilities = zip(*all_paths(edges, logits.tolist(), 0, steps, kind), strict=True)
    given = given_paths(paths)
    found = given.sums(path_log_likelihood(make(edges, 4), logits, given, kind)).exp()
    assert found.tolist() == pytest.approx(list(probabilities))
    assert float(found.sum()) == pytest.approx(1)


def test_paths_that_cannot_be_walked_have_no_likelihood():
    graph, logits = make(FOUR, 4), torch.zeros(8, requires_grad=True)
    there_and_back, jump, loop_twice = (0, 1), (0, 6), (7, 7)
    given = given_paths([there_and_back, jump, loop_twice])
    found = path_log_likelihood(graph, logits, given, "nb")
    assert found.tolist()[1::2] == [-math.inf] * 3
    torch.autograd.backward(found[0::2].sum())
    assert logits.grad.isfinite().all()
    plain = path_log_likelihood(graph, logits, given, "plain").tolist()
    assert [value > -math.inf for value in plain] == [True, True, True, False, True, True]
    assert choice_hits(graph, logits, given, "nb").tolist()[1::2] == [0, 0, 0]


def test_turning_back_with_nearly_all_probability_leaves_exact_shares():
    edges = [(0, 1), (1, 0), (1, 2), (1, 3)]
    logits = torch.tensor([0.0, 500.0, 2.0, 0.0])
    found = path_log_likelihood(make(edges, 4), logits, given_paths([(0, 3)]), "nb")
    assert float(found[1]) == pytest.approx(-math.log1p(math.exp(2)))


@pytest.mark.parametrize("kind", KINDS)
def test_hits_are_the_mean_of_breaking_ties_at_random(kind):
    edges = random_edges(5, 5, 12)
    logits = (draw_logits(0, len(edges)) > 0).double()
    paths = [path for path, _ in all_paths(edges, logits.tolist(), 0, 3, kind)]
    given = given_paths(paths)
    found = choice_hits(make(edges, 5), logits, given, kind)
    for edge, before, credit in zip(given.edges.tolist(), given.previous.tolist(), found.tolist(), strict=True):
        options = (
            [number for number, (source, _) in enumerate(edges) if source == edges[edge][0]]
            if before < 0
            else following(edges, before, kind)
        )
        best = [option for option in options if logits[option] == max(logits[option] for option in options)]
        assert credit == pytest.approx((edge in best) / len(best))
    assert any(0 < credit < 1 for credit in found.tolist())


@pytest.mark.parametrize("kind", KINDS)
def test_gradients(kind):
    graph, given = make(FOUR, 4), given_paths([(0, 2, 5, 5), (4, 0)])
    logits = draw_logits(0, 8).requires_grad_()
    check = lambda x: path_log_likelihood(graph, x, given, kind).clamp(min=-1000)  # noqa: E731
    assert torch.autograd.gradcheck(check, logits)
    assert not choice_hits(graph, logits, given, kind).requires_grad


def test_no_decisions_are_no_fault():
    nothing = torch.zeros(0, dtype=torch.int64)
    given = EdgePaths(nothing, nothing, nothing, 2)
    for kind in KINDS:
        assert given.sums(path_log_likelihood(make(FOUR, 4), torch.zeros(8), given, kind)).tolist() == [0, 0]
        assert len(choice_hits(make(FOUR, 4), torch.zeros(8), given, kind)) == 0


@pytest.mark.parametrize(
    ("edges", "previous", "window", "words"),
    [
        ([8], [-1], [0], "The edges of a path must be"),
        ([0], [-2], [0], "The previous of a path must be"),
        ([0], [-1], [1], "The window of a path must be"),
        ([0], [-1], [0, 0], "A path has 1 edges, and window of 2"),
        ([0], [], [0], "A path has 1 edges, and previous of 0"),
    ],
)
def test_refuses_numbers_that_there_are_not(edges, previous, window, words):
    given = EdgePaths(torch.tensor(edges), torch.tensor(previous, dtype=torch.int64), torch.tensor(window), 1)
    with pytest.raises(DataError, match=words):
        path_log_likelihood(make(FOUR, 4), torch.zeros(8), given, "nb")
    with pytest.raises(UsageError, match="Unknown walk"):
        choice_hits(make(FOUR, 4), torch.zeros(8), given, "other")


@pytest.mark.parametrize("kind", KINDS)
def test_does_not_depend_on_the_number_of_threads(kind):
    """Bit for bit, values and gradients, with more decisions than torch lets a single thread add up."""
    edges = random_edges(0, 500, 2500)
    graph = make(edges, 500)
    chosen = torch.randint(0, len(edges), (36_000,), generator=torch.Generator().manual_seed(0))
    given = EdgePaths(chosen, torch.full_like(chosen, -1), chosen % 7, 7)
    threads, results = torch.get_num_threads(), []
    try:
        for number in (1, 2, 4):
            torch.set_num_threads(number)
            logits = draw_logits(0, len(edges), torch.float32).requires_grad_()
            found = given.sums(path_log_likelihood(graph, logits, given, kind))
            results.append((found.detach(), *torch.autograd.grad(found.sum(), logits)))
    finally:
        torch.set_num_threads(threads)
    for result in results[1:]:
        assert all(torch.equal(*pair) for pair in zip(result, results[0], strict=True))
