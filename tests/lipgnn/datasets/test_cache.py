"""The cache: what is kept comes back, what cannot be kept or read is made, and a changed file is another."""

from __future__ import annotations

import os

import numpy as np
import pytest

from lipgnn.datasets.cache import cache_directory, key_of_files, remember
from lipgnn.datasets.formats.arrays import load_arrays, write_arrays
from lipgnn.errors import DataError

KEY = "0123456789abcdef" * 4


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("LIPGNN_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def ask():
    """Ask for a number that counts how often it was made."""
    made = []

    def make():
        made.append(len(made))
        return {"number": np.array(len(made))}

    return lambda key=KEY: int(remember("n", key, make=make, read=load_arrays, write=write_arrays)["number"])


def test_it_is_made_once_for_every_key(ask, folder):
    assert [ask(), ask(), ask("f" * 64), ask("f" * 64), ask()] == [1, 1, 2, 2, 1]
    assert len(list(folder.iterdir())) == 2


def test_damage_is_mended(ask, folder):
    ask()
    (path,) = folder.iterdir()
    path.write_bytes(path.read_bytes()[:-30])
    assert [ask(), ask()] == [2, 2]


def test_where_nothing_can_be_kept_it_is_made_each_time(ask, folder):
    folder.write_text("a file where the folder should be")
    assert [ask(), ask()] == [1, 2]


def test_errors_of_making_are_the_callers(folder):
    def fail():
        raise DataError("no data")

    with pytest.raises(DataError, match="no data"):
        remember("n", KEY, make=fail, read=load_arrays, write=write_arrays)
    assert not folder.exists()


def test_a_key_changes_with_name_size_and_time_and_not_with_the_place(tmp_path):
    def key(place, name="a", content="1", time=1):
        file = tmp_path / place / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(content)
        os.utime(file, ns=(time, time))
        return key_of_files(file.parent, [file])

    assert key("x") == key("y")
    assert len({key("x"), key("x", name="b"), key("x", content="12"), key("x", time=2)}) == 4


def test_the_default_is_in_the_users_cache(monkeypatch):
    monkeypatch.delenv("LIPGNN_CACHE")
    assert cache_directory().parent.name == "lipgnn"
