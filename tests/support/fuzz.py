"""Fuzzing readers: damaged bytes, texts and JSON, and what may come of reading them.

A reader gives something or raises a LipgnnError with code 2 or 4; anything else is an escape, and so is more than 1 GB
of memory, or 10 s of computing for one case. The short form of a fuzzer tries a few dozen cases; the long one, marked
`campaign`, goes on with others for --fuzz-seconds.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from lipgnn.errors import DataError, LipgnnError, UsageError
from lipgnn.memory import forget_peak, memory_in_use, peak_memory

# How many cases are tried at once; the long form does so again and again.
SHORT, ROUND = 25, 250
FORMS = pytest.mark.parametrize(
    "examples", [pytest.param(SHORT, id="short"), pytest.param(ROUND, id="long", marks=pytest.mark.campaign)]
)
MOST_BYTES, MOST_SECONDS = 10**9, 10

# What readers have stumbled over, or may.
TOKENS = (
    *("", "0", "-1", "1e999", "nan", "-inf", "9" * 400, "9" * 5000, "1.5", "0x1f", "True", "null", "٣", "1_000"),
    *("\0", "\ufeff", "\u202e", "\x1b[31m", "é", '"', "'", ",", "\t", "\n", "\r\n", "\r", "=1+1", "../x", "a" * 300),
    *("[" * 3000, "{" * 3000, "18446744073709551616", "-9223372036854775809", "2147483648", "1e308", "-0"),
)
ATOMS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from([2**31, 2**63, -(2**63) - 1, 10**12, 10**400]),
    st.floats(),
    st.sampled_from(TOKENS[:30]),
    st.text(max_size=8),
)
JSON = st.recursive(
    ATOMS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


def fuzz(
    request: pytest.FixtureRequest,
    name: str,
    examples: int,
    damage: st.SearchStrategy,
    read: Callable[[Any], Any],
    *,
    slow: bool = False,
) -> None:
    """Let `read` meet `examples` cases of `damage`; in the long form round after round, until the time is over.

    Parameters
    ----------
    name : of the reader, for the table of the campaign.
    read : takes a case; may raise a DataError or a UsageError, and nothing else.
    slow : it runs whole commands, so that a fifth of the cases must do.
    """
    counts = {"reader": name, "cases": 0, "refused": 0, "escapes": 0}
    request.node.user_properties.append(("fuzz", counts))

    @settings(
        max_examples=examples // 5 if slow else examples,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(damage)
    def meet(case: Any) -> None:
        counts["cases"] += 1
        began = time.process_time()
        try:
            read(case)
        except LipgnnError as error:
            counts["refused"] += 1
            assert isinstance(error, DataError | UsageError), f"{type(error).__name__} is no refusal: {error}"
            assert error.message.endswith((".", ")")), error.message
        # Of this process, so that others beside it play no part.
        assert time.process_time() - began < MOST_SECONDS

    # A round is known by its number, so that the next one has other cases, and an escape can be met again.
    number, end = 0, time.monotonic() + (request.config.getoption("--fuzz-seconds") if examples > SHORT else 0)
    while number == 0 or time.monotonic() < end:
        _round(counts, seed(number)(meet))
        number += 1


def _round(counts: dict[str, Any], meet: Callable[[], None]) -> None:
    before = memory_in_use() if forget_peak() else None
    try:
        meet()
        assert before is None or peak_memory() - before < MOST_BYTES
    except BaseException:
        counts["escapes"] += 1
        raise


@st.composite
def damaged_bytes(draw: st.DrawFn, content: bytes) -> bytes:
    """The content with up to three places changed: flipped, cut out, repeated, overwritten or cut off."""
    spoiled = bytearray(content)
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, max(len(spoiled) - 1, 0)))
        length = draw(st.sampled_from([1, 2, 4, 8, 50]))
        match draw(st.sampled_from(["flip", "cut", "repeat", "fill", "insert", "end"])):
            case "flip":
                for place in range(start, min(start + 1, len(spoiled))):
                    spoiled[place] ^= 1 << draw(st.integers(0, 7))
            case "cut":
                del spoiled[start : start + length]
            case "repeat":
                spoiled[start:start] = spoiled[start : start + length] * draw(st.sampled_from([1, 3, 100]))
            case "fill":
                spoiled[start : start + length] = draw(st.sampled_from([b"\0", b"\xff", b"\x7f"])) * length
            case "insert":
                spoiled[start:start] = draw(st.binary(max_size=8) | st.sampled_from(TOKENS).map(str.encode))
            case "end":
                del spoiled[start:]
    return bytes(spoiled)


@st.composite
def damaged_text(draw: st.DrawFn, text: str, separators: str = ",\t\n") -> bytes:
    """The text with fields and lines replaced, dropped, repeated or swapped; then, now and then, as damaged bytes."""
    lines = [_fields(line, separators) for line in text.splitlines()]
    for _ in range(draw(st.integers(1, 3))):
        if not lines:
            break
        line = draw(st.integers(0, len(lines) - 1))
        place = draw(st.integers(0, max(len(lines[line]) - 1, 0)))
        match draw(st.sampled_from(["field", "field", "field", "drop field", "drop", "repeat", "swap"])):
            case "field":
                lines[line][place : place + 1] = [draw(st.sampled_from(TOKENS) | st.text(max_size=6))]
            case "drop field":
                del lines[line][place : place + 1]
            case "drop":
                del lines[line]
            case "repeat":
                lines.insert(line, list(lines[line]))
            case "swap":
                other = draw(st.integers(0, len(lines) - 1))
                lines[line], lines[other] = lines[other], lines[line]
    content = "\n".join("".join(fields) for fields in lines).encode(errors="surrogatepass") + b"\n"
    return draw(damaged_bytes(content)) if draw(st.integers(0, 3)) == 0 else content


def _fields(line: str, separators: str) -> list[str]:
    """A line as fields and the separators between them, which are fields of their own."""
    fields = [""]
    for letter in line:
        fields += [letter, ""] if letter in separators else []
        fields[-1] += "" if letter in separators else letter
    return fields


@st.composite
def damaged_json(draw: st.DrawFn, value: Any) -> bytes:
    """A value as JSON with one or two of its parts replaced by something else, dropped or renamed."""
    value = json.loads(json.dumps(value))
    for _ in range(draw(st.integers(1, 2))):
        value = _replaced(draw, value)
    text = json.dumps(value, ensure_ascii=False)
    content = text.encode(errors="surrogatepass")
    return draw(damaged_bytes(content)) if draw(st.integers(0, 4)) == 0 else content


def _replaced(draw: st.DrawFn, value: Any) -> Any:
    keys = list(value) if isinstance(value, dict) else list(range(len(value))) if isinstance(value, list) else []
    if not keys or draw(st.integers(0, 5)) == 0:
        return draw(JSON)
    key = draw(st.sampled_from(keys))
    match draw(st.sampled_from(["inside", "inside", "inside", "drop", "add"])):
        case "inside":
            value[key] = _replaced(draw, value[key])
        case "drop":
            del value[key]
        case "add" if isinstance(value, dict):
            value[draw(st.text(max_size=5))] = draw(JSON)
    return value
