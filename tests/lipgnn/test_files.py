import os
from pathlib import Path

import pytest

from lipgnn import files
from lipgnn.errors import RunFailed, UsageError


def test_write_atomic_replaces_and_leaves_nothing_else(tmp_path):
    target = tmp_path / "a"
    files.write_atomic(target, b"one")
    files.write_atomic(target, b"two")
    assert target.read_bytes() == b"two"
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_failed_write_keeps_the_old_file_and_names_path_and_size(tmp_path, monkeypatch, call):
    target = tmp_path / "a"
    files.write_atomic(target, b"old")

    def full(*_args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, call, full)
    with pytest.raises(RunFailed, match=r"a' \(5 bytes\): No space left"):
        files.write_atomic(target, b"newer")
    assert target.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a"]


def test_the_order_is_write_sync_rename_sync_directory(tmp_path, monkeypatch):
    """What makes a file that exists complete, even after a power loss."""
    calls = []
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr(files.os, "fsync", lambda fd: (calls.append(_kind(fd)), fsync(fd)))
    monkeypatch.setattr(files.os, "replace", lambda a, b: (calls.append("rename"), replace(a, b)))
    files.write_atomic(tmp_path / "a", b"x")
    assert calls == ["file", "rename", "directory"]


def test_create_once_lets_the_first_win(tmp_path):
    target = tmp_path / "result"
    assert files.create_once(target, b"first")
    assert not files.create_once(target, b"second")
    assert target.read_bytes() == b"first"
    assert os.listdir(tmp_path) == ["result"]


def test_to_json_refuses_what_is_not_json():
    with pytest.raises(ValueError):
        files.to_json({"a": float("nan")})


@pytest.mark.parametrize("text", ["=cmd()", "+1", "-x", "@y", "'quoted", "plain", "", "a=b"])
def test_text_in_csv_is_never_a_formula_and_comes_back(text):
    cell = files.to_csv_text(text)
    assert cell[:1] not in ("=", "+", "-", "@")
    assert files.from_csv_text(cell) == text


def test_sha256_of_nothing_is_the_published_digest():
    assert files.sha256(b"") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def test_leftovers_of_killed_writers_are_removed(tmp_path):
    old = tmp_path / f"{files.TEMPORARY_PREFIX}1"
    old.write_bytes(b"half")
    os.utime(old, (0, 0))
    (tmp_path / "kept").write_bytes(b"whole")
    files.remove_leftovers(tmp_path)
    assert os.listdir(tmp_path) == ["kept"]


def test_the_temporary_file_of_a_writer_at_work_is_left_alone(tmp_path):
    """Another process may be about to link it: that is how runs are claimed."""
    young = tmp_path / f"{files.TEMPORARY_PREFIX}1"
    young.write_bytes(b"half")
    files.remove_leftovers(tmp_path)
    assert young.exists()


def test_a_folder_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="Cannot write to") as caught:
        files.ensure_writable(tmp_path / "file" / "folder")
    assert "--results" in caught.value.hint


def _kind(descriptor):
    return "directory" if Path(f"/proc/self/fd/{descriptor}").resolve().is_dir() else "file"
