"""Tables of groups: closure, inverse, associativity (E3), and the tables that are none."""

import itertools

import numpy as np
import pytest

from lipgnn.errors import UsageError
from lipgnn.groups import Group
from lipgnn.groups.grid import group_of

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


def test_escnn_has_the_same_tables():
    escnn = pytest.importorskip("escnn", reason="escnn is an optional judge")
    p4, p4m = escnn.group.cyclic_group(4), escnn.group.dihedral_group(4)
    for ours, theirs in ((group_of("p4"), p4), (group_of("p4m"), p4m)):
        elements = [
            theirs.element(k % 4) if theirs is p4 else theirs.element((k // 4, k % 4)) for k in range(len(ours.table))
        ]
        assert ours.order == theirs.order()

        # Both tables are of isomorphic groups: so many elements of every order.
        def orders(products, identity):
            found = []
            for g in range(len(products)):
                power, count = g, 1
                while power != identity:
                    power, count = products[power, g], count + 1
                found.append(count)
            return sorted(found)

        products = np.array([[elements.index(a @ b) for b in elements] for a in elements])
        assert orders(ours.table, ours.identity) == orders(products, elements.index(theirs.identity))
