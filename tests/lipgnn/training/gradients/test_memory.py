"""Memory by parameter: what is kept, what share was sent, and what another number of workers takes on."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from lipgnn.errors import UsageError
from lipgnn.training.gradients.memory import Memory, Piece, hand_on, pieces_of

PARAMETERS = {"a": nn.Parameter(torch.zeros(2, 2)), "b": nn.Parameter(torch.zeros(3))}
PIECES = pieces_of([("a", 4), ("b", 3)])


def test_pieces_follow_each_other():
    assert [Piece("a", 0, 4), Piece("b", 4, 7)] == PIECES
    assert [piece.size for piece in PIECES] == [4, 3]


def test_what_is_not_sent_is_kept_and_comes_back():
    memory = Memory(PARAMETERS, keeps=True)
    first = torch.arange(1.0, 8.0)
    assert torch.equal(memory.recall(PIECES, first), first)
    sent = torch.tensor([0.0, 2, 0, 0, 5, 0, 0])
    memory.keep(PIECES, first, sent)
    assert memory.of("a").tolist() == [1, 0, 3, 4]
    assert memory.of("b").tolist() == [0, 6, 7]
    assert memory.recall(PIECES[1:], torch.ones(3)).tolist() == [1, 7, 8]


def test_without_memory_nothing_comes_back():
    memory = Memory(PARAMETERS, keeps=False)
    memory.keep(PIECES, memory.recall(PIECES, torch.ones(7)), torch.zeros(7))
    assert torch.equal(memory.recall(PIECES, torch.ones(7)), torch.ones(7))


def test_shares_are_of_the_sizes_that_entered():
    memory = Memory(PARAMETERS, keeps=True)
    first = torch.tensor([1.0, -1, 0, 2, 0, 0, 0])
    memory.keep(PIECES, memory.recall(PIECES, first), torch.tensor([0.0, -1, 0, 0, 0, 0, 0]))
    assert memory.shares_of([["a"], ["b"], ["a", "b"]]) == [0.25, None, 0.25]


def test_what_is_outstanding_stays_the_same_for_another_number_of_workers():
    """What the weights still have to get is the mean of all memories."""
    workers = [Memory(PARAMETERS, keeps=True) for _ in range(3)]
    generator = torch.Generator().manual_seed(0)
    for memory in workers:
        memory.keep(PIECES, torch.randn(7, generator=generator), torch.zeros(7))
    outstanding = torch.stack([memory.of("b") for memory in workers]).mean(dim=0)
    for count in (1, 2, 5):
        handed = hand_on([memory.tensors() for memory in workers], count)
        assert len(handed) == count
        assert torch.equal(torch.stack([own["memory.b"] for own in handed]).mean(dim=0), outstanding)
        handed[0]["memory.b"].zero_()
        assert count == 1 or handed[1]["memory.b"].any(), "each has its own"


def test_counts_are_handed_on_as_they_are():
    counts = torch.tensor([3, 10, 20])
    assert hand_on([{"counts": counts}, {"counts": counts}], 1)[0]["counts"].tolist() == [3, 10, 20]


def test_nobody_cannot_take_on_anything():
    with pytest.raises(UsageError, match="Memory of 0 workers cannot be handed on to 2"):
        hand_on([], 2)
