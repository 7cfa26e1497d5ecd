import pytest

from lipgnn.errors import UsageError
from lipgnn.spec.weight_norm import parse_weight_norm


@pytest.mark.parametrize(
    "text, fixed, at_one_layer, at_eight, written",
    [
        ("cap:2", False, 2, 2, "cap:2"),
        ("fix:4/L", True, 4, 0.5, "fix:4/L"),
        ("fix:0.50", True, 0.5, 0.5, "fix:0.5"),
        ("cap:1e0/L", False, 1, 0.125, "cap:1/L"),
    ],
)
def test_a_bound_is_a_number_or_one_over_the_depth(text, fixed, at_one_layer, at_eight, written):
    norm = parse_weight_norm(text)
    assert (norm.fixed, norm.limit(1), norm.limit(8), str(norm)) == (fixed, at_one_layer, at_eight, written)


def test_there_may_be_none():
    assert parse_weight_norm("none") is None


@pytest.mark.parametrize("text", ["", "cap", "cap:", "cap:0", "fix:-1", "fix:inf", "fix:4/K", "fix:4/", "max:2", "2"])
def test_anything_else_is_refused_with_an_example(text):
    with pytest.raises(UsageError, match="weight_norm must be none, cap:C or fix:C") as caught:
        parse_weight_norm(text)
    assert "fix:4/L" in caught.value.hint
