import errno
import os
import time
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


def refusing(code):
    def call(*_arguments, **_options):
        raise OSError(code, os.strerror(code))

    return call


@pytest.mark.parametrize("code", [errno.EPERM, errno.ENOTSUP, errno.ENOSYS])
def test_without_hard_links_the_first_wins_by_a_rename_that_replaces_nothing(tmp_path, monkeypatch, code):
    monkeypatch.setattr(os, "link", refusing(code))
    test_create_once_lets_the_first_win(tmp_path)


def test_without_either_it_is_told_what_is_missing(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "link", refusing(errno.EPERM))
    monkeypatch.setattr(files, "_RENAME_NOREPLACE", 1 << 20)  # a flag that no file system knows
    with pytest.raises(UsageError, match="neither hard links nor renameat2") as caught:
        files.create_once(tmp_path / "result", b"first")
    assert "--results" in caught.value.hint
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("code", [errno.EEXIST, errno.EIO, errno.EPERM])
def test_a_link_that_was_made_counts_whatever_the_answer(tmp_path, monkeypatch, code):
    """NFS sends a request again whose answer was lost, and the second answer is that the name is taken."""
    link = os.link
    monkeypatch.setattr(os, "link", lambda old, new: (link(old, new), refusing(code)()))
    assert files.create_once(tmp_path / "result", b"first")
    assert (tmp_path / "result").read_bytes() == b"first"


def test_another_failure_of_a_link_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "link", refusing(errno.EACCES))
    with pytest.raises(RunFailed, match=r"result' \(5 bytes\): Permission denied"):
        files.create_once(tmp_path / "result", b"first")


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_files_have_the_permissions_of_any_other_file(tmp_path, mask):
    earlier = os.umask(mask)
    try:
        files.write_atomic(tmp_path / "a", b"")
        files.append(tmp_path / "b", b"")
    finally:
        os.umask(earlier)
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o666 & ~mask}


def test_the_mask_of_the_process_is_never_touched(tmp_path, monkeypatch):
    """It belongs to all threads: whoever makes a file while it is 0 makes one that everybody may write."""
    monkeypatch.setattr(os, "umask", lambda mask: pytest.fail("the mask was changed"))
    files.write_atomic(tmp_path / "a", b"")


def test_append_adds_all_or_nothing(tmp_path, monkeypatch):
    path = tmp_path / "log"
    files.append(path, b"one\n")
    files.append(path, b"two\n")
    write, rest = os.write, []

    def full(descriptor, content):
        if rest:
            refusing(errno.ENOSPC)()
        rest.append(content)
        return write(descriptor, content[:2])

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(RunFailed, match=r"log' \(6 bytes\): No space left"):
        files.append(path, b"three\n")
    assert path.read_bytes() == b"one\ntwo\n"


@pytest.mark.parametrize("call", [files.append, files.write_atomic, files.create_once])
@pytest.mark.parametrize("name", ["a\0b", "a" * 300, "\udcff\ud800"], ids=["nul", "long", "surrogates"])
def test_a_name_that_no_file_can_have_is_a_sentence(tmp_path, call, name):
    with pytest.raises(RunFailed, match="Could not write"):
        call(tmp_path / name, b"")
    with pytest.raises(UsageError, match="Cannot write to"):
        files.ensure_writable(tmp_path / name)
    assert os.listdir(tmp_path) == []


def test_what_is_asked_last_decides_whether_a_file_is_replaced(tmp_path):
    (tmp_path / "a").write_bytes(b"old")

    def check():
        assert len(os.listdir(tmp_path)) == 2, "all is written by then"
        raise RunFailed("no more")

    with pytest.raises(RunFailed, match="no more"):
        files.write_atomic(tmp_path / "a", b"new", check)
    assert (tmp_path / "a").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a"]


def test_an_unpacked_archive_that_was_left_is_removed_and_one_being_unpacked_is_not(tmp_path):
    for name in ("old", "young"):
        folder = tmp_path / f"{files.TEMPORARY_PREFIX}{name}" / "top"
        folder.mkdir(parents=True)
        (folder / "edges").write_bytes(b"1")
        for path in (folder / "edges", folder, folder.parent) if name == "old" else (folder, folder.parent):
            os.utime(path, (0, 0))
    files.remove_leftovers(tmp_path)
    assert os.listdir(tmp_path) == [f"{files.TEMPORARY_PREFIX}young"]


def test_age_is_by_the_clock_of_the_file_system(tmp_path, monkeypatch):
    (tmp_path / "a").write_bytes(b"")
    os.utime(tmp_path / "a", (os.stat(tmp_path / "a").st_mtime - 100,) * 2)
    monkeypatch.setattr(time, "time", lambda: 0.0)
    assert 99 < files.age(tmp_path / "a") < 200
    assert files.age(tmp_path / "absent") == 0
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.parametrize("call", ["open", "fsync", "replace", "link", "write"])
def test_no_permission_error_is_swallowed(tmp_path, monkeypatch, call):
    """Injected at every call that touches the disk, on the way of every function that writes."""
    (tmp_path / "there").write_bytes(b"old")
    uses = {
        "open": (files.write_atomic, files.create_once, files.append),
        "fsync": (files.write_atomic, files.create_once),
        "replace": (files.write_atomic,),
        "link": (files.create_once,),
        "write": (files.append,),
    }
    monkeypatch.setattr(os, call, refusing(errno.EACCES))
    for write in uses[call]:
        with pytest.raises(RunFailed, match="Permission denied"):
            write(tmp_path / "there", b"new")
    monkeypatch.undo()
    assert (tmp_path / "there").read_bytes() == b"old"
