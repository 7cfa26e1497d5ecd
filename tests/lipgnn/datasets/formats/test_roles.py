from pathlib import Path

import pytest

from lipgnn.datasets.formats.roles import EDGE_ROLES, NODE_ROLES, check_ignored, find_roles, guessed, parse_columns
from lipgnn.errors import DataError, UsageError

FILE = Path("nodes.csv")


def test_the_own_name_beats_a_usual_one_and_what_is_given_beats_both():
    assert find_roles(FILE, ["key", "id"], NODE_ROLES, {}, ["id"]) == {"id": "id"}
    given = {"id": ("key",)}
    roles = find_roles(FILE, ["key", "id", "Class"], NODE_ROLES, given, ["id"])
    assert roles == {"id": "key", "label": "Class"}
    assert guessed(roles, given) == ["'Class' as label"]


def test_an_ignored_column_has_no_role():
    assert "weight" not in find_roles(FILE, ["u", "v", "w"], EDGE_ROLES, {"ignore": ("w",)}, ["source", "target"])


def test_what_cannot_be_decided_is_asked_for():
    with pytest.raises(DataError, match="could both be the source") as caught:
        find_roles(FILE, ["src", "from", "to"], EDGE_ROLES, {}, ["source", "target"])
    assert "--columns source=src" in caught.value.hint
    with pytest.raises(DataError, match="no column is the id"):
        find_roles(FILE, ["name"], NODE_ROLES, {}, ["id"])
    with pytest.raises(DataError, match="no column is the target") as caught:
        find_roles(FILE, ["a", "source", "b"], EDGE_ROLES, {"ignore": ("a",)}, ["source", "target"])
    assert "--columns target=b" in caught.value.hint, "neither one that is ignored nor one that has a role"
    with pytest.raises(DataError, match="no column is the id") as caught:
        find_roles(FILE, ["label"], NODE_ROLES, {}, ["id"])
    assert caught.value.hint == "Add a column 'id'."
    with pytest.raises(DataError, match="no column 'topic'"):
        find_roles(FILE, ["id"], NODE_ROLES, {"label": ("topic",)}, ["id"])


def test_pairs_are_parsed():
    found = parse_columns("id=paper, label=topic,ignore=a,ignore=b")
    assert found == {"id": ("paper",), "label": ("topic",), "ignore": ("a", "b")}
    for text in ("id", "id=", "colour=a", "id=a,id=b"):
        with pytest.raises(UsageError):
            parse_columns(text)


def test_a_column_that_is_to_be_ignored_is_in_one_of_the_tables():
    headers = (["id", "title"], ["source", "target", "w"])
    check_ignored(FILE, headers, {"ignore": ("title", "w")})
    check_ignored(FILE, headers, {})
    with pytest.raises(DataError, match="no column 'titel' to ignore") as caught:
        check_ignored(FILE, headers, {"ignore": ("w", "titel")})
    assert "id, title, source, target, w" in caught.value.hint
