import pytest

from lipgnn.words import counted


@pytest.mark.parametrize("number, words", [(0, "0 runs"), (1, "1 run"), (2, "2 runs"), (1200, "1,200 runs")])
def test_one_is_no_plural(number, words):
    assert counted(number, "run") == words
