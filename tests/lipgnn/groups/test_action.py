"""How groups move points: checked to be actions."""

import numpy as np
import pytest

from lipgnn.errors import UsageError
from lipgnn.groups import Action, Group, act_on_grid


def cyclic(order):
    numbers = np.arange(order)
    return Group(f"turns of {order}", (numbers[:, None] + numbers) % order)


def test_values_move_with_their_points():
    ring = Action(cyclic(5), cyclic(5).table)
    values = np.array([10, 11, 12, 13, 14])
    assert ring.moved(values, 2).tolist() == [13, 14, 10, 11, 12]
    assert ring.points == 5


def test_pairs_move_with_both_of_their_parts():
    action = act_on_grid("p4m", 3)
    nodes = action.nodes()
    for g in range(8):
        for point in range(9):
            for h in range(8):
                assert nodes[g, point * 8 + h] == action.moves[g, point] * 8 + action.group.table[g, h]
    assert Action(action.group, nodes).points == 72  # an action itself


@pytest.mark.parametrize(
    ("moves", "reason"),
    [
        (np.array([[0, 1, 2]]), "not whole numbers of shape (2, points)"),
        (np.array([[0, 1, 2], [0, 0, 2]]), "element 1 does not bring every point to a place of its own"),
        (np.array([[0, 1, 2], [0, 1, 3]]), "element 1 does not bring every point to a place of its own"),
        (np.array([[1, 0, 2], [0, 1, 2]]), "the element that changes nothing moves point 0"),
        (
            np.array([[0, 1, 2], [1, 2, 0]]),
            "moves of element 1 after those of element 1 are not those of their product",
        ),
    ],
)
def test_a_group_that_does_not_act_is_refused(moves, reason):
    with pytest.raises(UsageError, match="does not act on the points") as caught:
        Action(cyclic(2), moves)
    assert reason in caught.value.message
