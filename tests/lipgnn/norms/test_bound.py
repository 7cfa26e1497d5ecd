import math

from lipgnn.norms.bound import Bound, product


def test_parts_one_after_the_other_multiply():
    assert product([Bound(2.0), Bound(0.5), Bound(3.0)]) == Bound(3.0)
    assert product([]) == Bound(1.0)


def test_one_unknown_part_makes_the_whole_unknown_even_beside_a_zero():
    whole = product([Bound(0.0), Bound.unknown("first"), Bound.unknown("second")])
    assert whole == Bound(math.inf, "first")
