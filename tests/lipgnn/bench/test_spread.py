from lipgnn.bench.spread import Spread


def test_it_keeps_what_is_usual_and_the_extremes():
    assert Spread.of([3.0, 1.0, 10.0]) == Spread(3.0, 1.0, 10.0)
    assert Spread.of([2.0]) == Spread(2.0, 2.0, 2.0)
