"""Generated Minesweeper: the facts of the published file, at any size."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from lipgnn.datasets import load, prepare, read
from lipgnn.datasets.generated.minesweeper import generate, grid_edges
from lipgnn.errors import UsageError

# Columns of the published features, in the order of the file, by counting.
PUBLISHED = np.array([5000, 858, 1726, 1442, 677, 232, 65])


@pytest.mark.parametrize("size", [5, 8])
def test_cells_are_joined_to_those_that_touch_them(size):
    pairs = {tuple(sorted(pair)) for pair in grid_edges(size).T.tolist()}
    assert len(pairs) == grid_edges(size).shape[1]
    cells = list(itertools.product(range(size), repeat=2))
    expected = {
        (i, j)
        for (i, (r, c)), (j, (s, d)) in itertools.combinations(enumerate(cells), 2)
        if max(abs(r - s), abs(c - d)) == 1
    }
    assert pairs == expected


def test_at_the_published_size_it_has_the_published_counts():
    source = generate("minesweeper:100")
    assert (source.num_nodes, source.edges.shape[1], source.num_features, source.num_classes) == (10000, 39402, 7, 2)
    degrees = np.bincount(source.edges.ravel())
    assert dict(zip(*np.unique(degrees, return_counts=True), strict=True)) == {3: 4, 5: 392, 8: 9604}
    assert int(source.labels.sum()) == 2000
    assert list(source.splits) == [str(k) for k in range(10)]
    for split in source.splits.values():
        counts = [(int(mask.sum()), int(source.labels[mask].sum())) for mask in split.parts.values()]
        assert counts == [(5000, 1000), (2500, 500), (2500, 500)]


def test_features_tell_the_mines_around_of_half_of_the_cells():
    source = generate("minesweeper:40:7")
    adjacency = np.zeros((1600, 1600), dtype=int)
    adjacency[tuple(source.edges)] = 1
    around = (adjacency + adjacency.T) @ source.labels
    np.testing.assert_array_equal(source.features.sum(axis=1), 1)
    column = source.features.argmax(axis=1)
    assert int((column == 0).sum()) == 800
    known = column > 0
    np.testing.assert_array_equal(column[known], 1 + np.minimum(around[known], 5))
    # Open or not has nothing to do with mines: within four standard deviations of a half.
    assert abs(known[source.labels == 1].mean() - 0.5) < 4 * 0.5 / np.sqrt(320)


def test_it_is_distributed_as_the_published_one():
    """Known cells by their number of mines: every share within four standard deviations of its own."""
    drawn = np.mean([generate(f"minesweeper:100:{seed}").features.sum(axis=0) for seed in range(8)], axis=0)
    assert drawn[0] == PUBLISHED[0]
    # Counts of neighbouring cells go together, which widens their spread by no more than twice.
    spread = 2 * np.sqrt(PUBLISHED[1:] * (1 + 1 / 8))
    assert (np.abs(drawn - PUBLISHED)[1:] < 4 * spread).all()


def test_a_name_means_the_same_grid_for_ever():
    one, again, other = (read(name) for name in ("minesweeper:20", "minesweeper:20:0", "minesweeper:20:1"))
    np.testing.assert_array_equal(one.features, again.features)
    assert not np.array_equal(one.labels, other.labels)
    # Drawn once with numpy 2.4; numpy promises that RandomState keeps its stream.
    assert prepare(one, one.splits["4"]).fingerprint == "3426549c8568f0ad"


@pytest.mark.parametrize(
    "name", ["minesweeper:4", "minesweeper:1001", "minesweeper:x", "minesweeper:9:-1", "minesweeper:"]
)
def test_other_names_are_refused(name):
    with pytest.raises(UsageError, match=r"is no grid of minesweeper|asks for a grid of size (4|1001)") as caught:
        load(name, split="0")
    assert "with SIZE from 5 to 1000" in caught.value.hint


def test_the_smallest_has_mines_in_every_part():
    source = generate("minesweeper:5:3")
    for split in source.splits.values():
        assert all(0 < source.labels[mask].sum() < mask.sum() for mask in split.parts.values())
