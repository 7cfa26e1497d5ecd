from __future__ import annotations

from dataclasses import dataclass, fields

import pytest

from lipgnn.catalog import Entry
from lipgnn.errors import UsageError
from lipgnn.spec.options import checked, digits, option, type_of
from lipgnn.spec.run import FIELDS


@dataclass
class Some:
    below: float = option("data", 0.5, "A share.", below=1)
    high: int = option("data", 1, "A few.", high=9)
    both: int = option("data", 1, "Some.", low=0, high=9)
    word: str = option("data", "a", "A letter.", catalog={"a": Entry("the first"), "b": Entry("the second")})
    text: str = option("data", "auto", "A word or a number.", or_number=True)


OPTIONS = {one.name: one for one in fields(Some)}


@pytest.mark.parametrize(
    "name, value, message",
    [
        ("below", 1, "below must be below 1, got 1."),
        ("high", "10", "high must be at most 9, got '10'."),
        ("both", -1, "both must be at least 0 and at most 9, got -1."),
        ("word", "c", "Unknown value of word 'c'."),
        ("word", 1, "word must be a text, got 1."),
        ("high", True, "high must be a whole number, got True."),
    ],
)
def test_a_refusal_names_the_limits_that_there_are(name, value, message):
    with pytest.raises(UsageError) as caught:
        checked(OPTIONS[name], value)
    assert caught.value.message == message


def test_the_choices_are_those_of_the_catalog():
    assert tuple(OPTIONS["word"].metadata["choices"]) == ("a", "b")
    assert checked(OPTIONS["word"], "b") == "b"


def test_values_have_the_type_of_their_option():
    assert [type_of(one) for one in OPTIONS.values()] == [float, int, int, str, str]
    assert (checked(OPTIONS["high"], "3"), checked(OPTIONS["below"], "1e-1")) == (3, 0.1)
    assert (checked(OPTIONS["text"], 5), checked(OPTIONS["text"], 0.25), checked(OPTIONS["text"], "x")) == (
        "5",
        "0.25",
        "x",
    )


@pytest.mark.parametrize("number, text", [(2.0, "2"), (3, "3"), (0.1234567891, "0.1234567891"), (1e-12, "1e-12")])
def test_a_number_is_written_with_all_its_digits_and_no_more(number, text):
    assert digits(number) == text and float(text) == number


@pytest.mark.parametrize(
    "value, words",
    [
        (10**5000, "a whole number below 2^63, got a value that is too long to show"),
        (-(2**63), "a whole number below 2^63"),
        ("9" * 5000, "a whole number, got '999"),
    ],
    ids=["long", "negative", "text"],
)
def test_numbers_that_nothing_holds_are_refused_in_a_line(value, words):
    with pytest.raises(UsageError) as caught:
        checked(FIELDS["epochs"], value)
    assert words in caught.value.message and len(caught.value.message) < 200
