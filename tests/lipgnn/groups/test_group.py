"""Tables of groups: closure, inverse, associativity (E3), and the tables that are none."""

import itertools

import numpy as np
import pytest

from lipgnn.errors import UsageError
from lipgnn.groups import Group
from lipgnn.groups.grid import group_of, matrices_of

NAMES = ("z2", "mirror", "p4", "p4m")


def permutations_of(size):
    """The symmetric group by composing permutations, of which no table of ours knows."""
    elements = list(itertools.permutations(range(size)))
    return np.array([[elements.index(tuple(g[k] for k in h)) for h in elements] for g in elements])


@pytest.mark.parametrize("name", NAMES)
def test_laws_hold_element_by_element(name):
    group = group_of(name)
    table, numbers = group.table, range(group.order)
    assert {int(k) for k in table.flat} == set(numbers)
    for g in numbers:
        assert table[g, group.inverses[g]] == table[group.inverses[g], g] == group.identity
        for h, k in itertools.product(numbers, numbers):
            assert table[table[g, h], k] == table[g, table[h, k]]
            assert group.quotients[table[k, g], table[k, h]] == group.quotients[g, h] == table[group.inverses[g], h]


def test_a_group_that_does_not_commute_passes():
    group = Group("permutations", permutations_of(3))
    assert (group.table != group.table.T).any()
    assert group.order == 6


def loop_of_five():
    """A Latin square with an identity and inverses that is not associative, the smallest there is."""
    rows = ["01234", "10342", "24013", "32401", "43120"]
    return np.array([[int(k) for k in row] for row in rows])


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        (np.array([[0, 1], [1, 2]]), "a product is 2, outside 0..1"),
        (np.array([[0, 1]]), "not whole numbers in a square"),
        (np.array([[0.0]]), "not whole numbers in a square"),
        (np.zeros((0, 0), dtype=int), "not whole numbers in a square"),
        (np.array([[0, 0], [1, 1]]), "no element changes nothing"),
        (np.array([[0, 1], [1, 1]]), "element 1 has no inverse"),
        (loop_of_five(), "is not"),
    ],
)
def test_a_table_that_is_no_group_is_refused(table, reason):
    with pytest.raises(UsageError, match="'odd' is no group") as caught:
        Group("odd", table)
    assert reason in caught.value.message


@pytest.mark.parametrize("name", ["p4", "p4m"])
def test_escnn_has_the_same_tables(name):
    escnn = pytest.importorskip("escnn.group", reason="escnn is an optional judge", exc_type=ImportError)
    theirs = escnn.cyclic_group(4) if name == "p4" else escnn.dihedral_group(4)
    plane = theirs.irrep(1) if name == "p4" else theirs.irrep(1, 1)
    # Their plane is (x, y), and ours (row, column) = (−y, x).
    turn = np.array([[0, -1], [1, 0]])
    matrices = [np.rint(turn @ plane(element) @ turn.T).astype(int) for element in theirs.elements]
    number = [int((matrices_of(name) == matrix).all(axis=(1, 2)).argmax()) for matrix in matrices]
    assert sorted(number) == list(range(theirs.order()))
    for a, b in itertools.product(range(theirs.order()), repeat=2):
        product = theirs.elements.index(theirs.elements[a] @ theirs.elements[b])
        assert group_of(name).table[number[a], number[b]] == number[product]
