from pathlib import Path

import pytest

from cli.outputs import OutputFile, check_picture
from lipgnn.errors import UsageError


def test_a_file_that_can_be_written_is_taken_as_it_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.csv").touch()
    for name in ("new.csv", "there.csv", str(tmp_path / "new.csv")):
        assert OutputFile().convert(name, None, None) == Path(name)


@pytest.mark.parametrize(
    "name, words",
    [(".", "is a folder"), ("absent/x.csv", "no folder 'absent'"), ("x" * 300, "too long")],
)
def test_one_that_cannot_is_refused_before_the_work_begins(tmp_path, monkeypatch, name, words):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=words):
        OutputFile().convert(name, None, None)


@pytest.mark.parametrize("name", [None, "table.csv", "png"])
def test_a_figure_needs_a_file_for_pictures(name):
    with pytest.raises(UsageError, match="--figure needs -o FILE"):
        check_picture("depth", Path(name) if name else None)


@pytest.mark.parametrize("name", ["x.png", "x.PDF", "folder.csv/x.svg"])
def test_a_picture_is_told_by_its_suffix(name):
    check_picture("depth", Path(name))
