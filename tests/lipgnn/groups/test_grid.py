"""Turns and mirrors of pixels, against numpy's own; the offsets of pixels, against a loop."""

import itertools

import numpy as np
import pytest

from lipgnn.catalog import SYMMETRIES
from lipgnn.errors import UsageError
from lipgnn.groups.grid import act_on_grid, group_of, matrices_of, offsets_on_grid
from lipgnn.groups.product import moved_labels


@pytest.mark.parametrize("side", [1, 2, 3, 8])
def test_elements_move_pixels_as_numpy_does(side):
    image = np.arange(side * side).reshape(side, side)
    action = act_on_grid("p4m", side)
    for turns, mirrored in itertools.product(range(4), (False, True)):
        moved = action.moved(image.ravel(), turns + 4 * mirrored).reshape(side, side)
        assert (moved == np.rot90(np.fliplr(image) if mirrored else image, turns)).all()


@pytest.mark.parametrize("name", SYMMETRIES)
def test_a_group_has_as_many_elements_as_its_entry_says(name):
    matrices = matrices_of(name)
    assert group_of(name).order == len(matrices) == SYMMETRIES[name].order
    assert len(np.unique(matrices, axis=0)) == len(matrices)


@pytest.mark.parametrize("name", SYMMETRIES)
@pytest.mark.parametrize("reach", [0, 1, 2])
def test_every_element_maps_offsets_one_to_one(name, reach):
    """E3: the offset table is a bijection for each h, and the linear one."""
    relation = offsets_on_grid(5, reach)
    moved = moved_labels(act_on_grid(name, 5), relation)
    span = 2 * reach + 1
    for element, matrix in enumerate(matrices_of(name)):
        table = dict(zip(relation.labels.tolist(), moved[element].tolist(), strict=True))
        assert sorted(table.values()) == sorted(table) == list(range(span * span))
        for label, image in table.items():
            offset = np.array(divmod(label, span)) - reach
            assert (np.array(divmod(image, span)) - reach == matrix @ offset).all()


@pytest.mark.parametrize(("side", "reach"), [(1, 0), (4, 1), (4, 3), (5, 2)])
def test_pairs_are_those_within_reach(side, reach):
    found = offsets_on_grid(side, reach)
    span, pairs = 2 * reach + 1, {}
    for a, b, c, d in itertools.product(range(side), repeat=4):
        if max(abs(a - c), abs(b - d)) <= reach:
            pairs[a * side + b, c * side + d] = (a - c + reach) * span + (b - d + reach)
    assert (
        dict(zip(zip(found.sources.tolist(), found.targets.tolist(), strict=True), found.labels.tolist(), strict=True))
        == pairs
    )
    assert found.num_labels == span * span


def test_a_reach_larger_than_the_image_is_refused():
    with pytest.raises(UsageError, match=r"--reach 8 is larger than an image of 8 × 8 pixels"):
        offsets_on_grid(8, 8)


def test_an_unknown_group_is_refused():
    with pytest.raises(UsageError, match="Unknown group 'p6'"):
        act_on_grid("p6", 4)
