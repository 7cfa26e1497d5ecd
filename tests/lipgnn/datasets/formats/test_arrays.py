import io
import zipfile

import numpy as np
import pytest

from lipgnn.datasets.formats.arrays import load_arrays, member_names, write_arrays
from lipgnn.errors import DataError


@pytest.fixture
def pack(tmp_path):
    """Write an npz file of one member from its bytes."""

    def to_file(content, name="x.npy", packing=zipfile.ZIP_STORED):
        with zipfile.ZipFile(tmp_path / "a.npz", "w", packing) as archive:
            archive.writestr(name, content)
        return tmp_path / "a.npz"

    return to_file


def header(text, magic=b"\x93NUMPY\x01\x00"):
    text = text.encode("latin1")
    return magic + len(text).to_bytes(2, "little") + text


@pytest.mark.parametrize("compress", [True, False])
def test_arrays_come_back_as_they_were(tmp_path, compress):
    arrays = {
        "a": np.arange(6, dtype=np.int16).reshape(2, 3),
        "b": np.asfortranarray(np.eye(3)),
        "c": np.array(["x", "yz"]),
        "d": np.array(True),
        "e": np.empty((0, 4), np.float32),
    }
    write_arrays(arrays, tmp_path / "a.npz", compress=compress)
    read = load_arrays(tmp_path / "a.npz")
    assert list(read) == list(arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(read[name], array)
        assert read[name].dtype == array.dtype


@pytest.mark.parametrize(
    "content, reason",
    [
        (header("{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }\n") + bytes(16), "16 bytes are no array"),
        (header("{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }\n") + bytes(32), "32 bytes are no array"),
        (header("{'descr': '<f8', 'fortran_order': False, 'shape': (-1,-1), }\n") + bytes(8), "8 bytes are no array"),
        (header(f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({2**62},4), }}\n"), "0 bytes are no array"),
        (header("{'descr': '<U0', 'fortran_order': False, 'shape': (1000000000000,), }\n"), "0 bytes are no array"),
        (header("{'descr': ('<f8', (2,)), 'fortran_order': False, 'shape': (1,), }\n") + bytes(16), "no array"),
        (header("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }\n") + b"N.", "never loaded"),
        (header("{" * 5000), "its header is damaged"),
        (header("[" * 200 + "]" * 200), "its header is damaged"),
        (header("{'descr': 'nonsense', 'fortran_order': False, 'shape': (1,), }\n"), "its header is damaged"),
        (header("{'descr': '<f8', 'fortran_order': False, 'shape': ('a',), }\n"), "its header is damaged"),
        (header("{}", magic=b"\x93NUMPY\x03\x00") + bytes(9), "its header is damaged"),
        (header("{}", magic=b"\x93NUMPY\x09\x09"), "its header is damaged"),
        (b"\x93NUM", "its header is damaged"),
        (b"", "its header is damaged"),
    ],
)
def test_headers_that_announce_something_else_are_refused_before_an_array_is_made(pack, content, reason):
    with pytest.raises(DataError, match=rf"a\.npz.*{reason}"):
        load_arrays(pack(content))


def test_ways_of_packing_that_numpy_does_not_write_are_refused(pack):
    content = io.BytesIO()
    np.lib.format.write_array(content, np.eye(2))
    for packing in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        with pytest.raises(DataError, match="packed in a way"):
            load_arrays(pack(content.getvalue(), packing=packing))


def test_a_member_that_is_no_array_is_refused(pack):
    with pytest.raises(DataError, match=r"'x\.txt' is not an array"):
        load_arrays(pack(b"text", name="x.txt"))


def test_members_can_be_skipped_whatever_they_hold(tmp_path):
    np.savez(tmp_path / "a.npz", a=np.ones(2), b=np.array([{}], dtype=object))
    with pytest.raises(DataError, match="'b': holds Python objects"):
        load_arrays(tmp_path / "a.npz")
    assert list(load_arrays(tmp_path / "a.npz", skip=["b"])) == ["a"]


def test_names_of_members_are_known_without_reading_them(tmp_path):
    np.savez(tmp_path / "a.npz", a=np.ones(2), b=np.array([{}], dtype=object))
    assert member_names(tmp_path / "a.npz") == {"a", "b"}
    (tmp_path / "b.npz").write_bytes(b"no archive")
    (tmp_path / "c.npz").mkdir()
    for name in ("b.npz", "c.npz", "d.npz"):
        assert member_names(tmp_path / name) == frozenset()
