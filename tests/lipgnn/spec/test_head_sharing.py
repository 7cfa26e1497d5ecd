import pytest

from lipgnn.errors import UsageError
from lipgnn.spec.head_sharing import parse_head_sharing


@pytest.mark.parametrize(
    "text, kind, groups, written",
    [
        ("collab", "collab", 0, "collab"),
        ("mqa", "mqa", 1, "mqa"),
        ("gqa:2", "gqa", 2, "gqa:2"),
        ("gqa:04", "gqa", 4, "gqa:4"),
        # One group is one key for all heads, whatever it is called.
        ("gqa:1", "mqa", 1, "mqa"),
    ],
)
def test_a_kind_and_its_groups(text, kind, groups, written):
    sharing = parse_head_sharing(text)
    assert (sharing.kind, sharing.groups, str(sharing)) == (kind, groups, written)


def test_there_may_be_none():
    assert parse_head_sharing("none") is None


@pytest.mark.parametrize(
    "text", ["", "gqa", "gqa:", "gqa:0", "gqa:-1", "gqa:1.5", "gqa:two", "collab:2", "mqa:1", "all", "gqa:²"]
)
def test_anything_else_is_refused_with_an_example(text):
    with pytest.raises(UsageError, match="head_sharing must be none, collab, mqa or gqa:G") as caught:
        parse_head_sharing(text)
    assert "gqa:2" in caught.value.hint


@pytest.mark.parametrize(
    "text, given, width",
    [
        ("collab", 0, 24),
        ("collab", 7, 7),
        ("collab", 24, 24),
        ("mqa", 0, 4),
        ("mqa", 3, 3),
        ("gqa:2", 0, 8),
        ("gqa:3", 6, 6),
        ("gqa:6", 0, 24),
    ],
)
def test_keys_are_as_wide_as_was_said_or_as_fits_the_kind(text, given, width):
    assert parse_head_sharing(text).width(given, hidden=4, heads=6) == width


@pytest.mark.parametrize(
    "text, given, problem",
    [
        ("collab", 25, "at most heads × hidden = 24, got 25"),
        ("mqa", 25, "at most heads × hidden = 24, got 25"),
        ("gqa:4", 0, "'gqa:4' needs groups of equally many heads, and heads is 6"),
        ("gqa:3", 8, "splits the keys into 3 equal parts, and shared_dim is 8"),
    ],
)
def test_widths_and_groups_that_do_not_fit_are_refused(text, given, problem):
    with pytest.raises(UsageError, match=problem) as caught:
        parse_head_sharing(text).width(given, hidden=4, heads=6)
    assert caught.value.hint
