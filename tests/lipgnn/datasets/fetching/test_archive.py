"""Archives that are what they should be, and archives that are not."""

from __future__ import annotations

import hashlib
import os
import stat
import zipfile

import pytest

from lipgnn.datasets.fetching.archive import unpack
from lipgnn.errors import DataError, RunFailed


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


def _member(name, *, mode=stat.S_IFREG | 0o644):
    info = zipfile.ZipInfo("x")
    info.filename = name  # as it is: the constructor would tidy it
    info.external_attr = mode << 16
    return info


def _archive(tmp_path, *members, compression=zipfile.ZIP_STORED):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.writestr("good/first.txt", "first")
        for member, content in members:
            archive.writestr(member, content, compress_type=compression)
    return path


def test_files_are_written_and_their_sums_told(tmp_path, folder):
    archive = _archive(tmp_path, (_member("good/", mode=stat.S_IFDIR | 0o755), ""), (_member("good/b/c.gz"), b"\0\1"))
    assert unpack(archive, folder) == {
        "good/first.txt": hashlib.sha256(b"first").hexdigest(),
        "good/b/c.gz": hashlib.sha256(b"\0\1").hexdigest(),
    }
    assert (folder / "good" / "b" / "c.gz").read_bytes() == b"\0\1"


@pytest.mark.parametrize(
    "name",
    [
        *("../evil", "good/../../evil", "/etc/evil", "..", "good//x", "./x", "C:\\evil", "..\\evil", "C:evil"),
        # A guard that compares beginnings of paths takes this for a path inside of "data".
        "../data-evil/x",
        "good/\0/../x",
    ],
)
def test_nothing_leaves_the_folder(tmp_path, folder, name):
    archive = _archive(tmp_path, (_member(name), "evil"))
    before = set(tmp_path.rglob("*"))
    with pytest.raises(DataError, match="outside of the folder"):
        unpack(archive, folder)
    assert set(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFIFO, stat.S_IFSOCK])
def test_only_plain_files(tmp_path, folder, kind):
    archive = _archive(tmp_path, (_member("good/link", mode=kind | 0o777), "/etc/passwd"))
    with pytest.raises(DataError, match="no plain file"):
        unpack(archive, folder)
    assert not list(folder.iterdir())


def test_a_bomb_is_not_set_off(tmp_path, folder):
    archive = _archive(tmp_path, (_member("good/zeros"), bytes(10_000_000)), compression=zipfile.ZIP_DEFLATED)
    with pytest.raises(DataError, match="would grow to 10,000,005"):
        unpack(archive, folder)
    assert not list(folder.iterdir())


def test_a_bomb_that_lies_about_its_size(tmp_path, folder):
    """The announced size is all that is written, and then the sum does not fit."""
    archive = _archive(tmp_path, (_member("good/zeros"), bytes(10_000_000)), compression=zipfile.ZIP_DEFLATED)
    size = (10_000_000).to_bytes(4, "little")
    content = archive.read_bytes()
    assert content.count(size) == 2
    archive.write_bytes(content.replace(size, (1000).to_bytes(4, "little")))
    with pytest.raises(DataError):
        unpack(archive, folder)
    assert sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) <= 1005


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(("names", "reason"), [(["good/a"] * 2, "there twice"), (["good/a", "good/a/b"], "a file and")])
def test_names_that_clash(tmp_path, folder, names, reason):
    with pytest.raises(DataError, match=reason):
        unpack(_archive(tmp_path, *((_member(name), "") for name in names)), folder)
    assert not list(folder.iterdir())


def test_an_encrypted_member(tmp_path, folder):
    archive = _archive(tmp_path)
    content = bytearray(archive.read_bytes())
    for signature, offset in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        content[content.index(signature) + offset] |= 1
    archive.write_bytes(content)
    with pytest.raises(DataError, match="encrypted"):
        unpack(archive, folder)


def test_damage_is_found_at_every_place(tmp_path):
    archive = _archive(tmp_path, (_member("good/b"), os.urandom(50)))
    whole = archive.read_bytes()
    for index, keep in enumerate(range(0, len(whole), 7)):
        archive.write_bytes(whole[:keep])
        with pytest.raises(DataError):
            unpack(archive, tmp_path / str(index))
    flipped = bytearray(whole)
    flipped[whole.index(b"first", 40)] ^= 1
    archive.write_bytes(flipped)
    with pytest.raises(DataError, match="not a whole zip archive"):
        unpack(archive, tmp_path / "flipped")


def test_a_folder_that_cannot_be_written_to(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RunFailed, match="Could not unpack"):
        unpack(_archive(tmp_path), tmp_path / "file")
