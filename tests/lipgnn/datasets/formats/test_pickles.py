"""The restricted reader: the arrays of Planetoid come through, nothing is ever run."""

from __future__ import annotations

import copyreg
import pickle
from collections import defaultdict

import numpy as np
import pytest
from scipy import sparse

from lipgnn.datasets.formats import pickles
from lipgnn.datasets.formats.pickles import read_pickle
from lipgnn.errors import DataError


@pytest.fixture
def write(tmp_path):
    def to_file(content: bytes):
        path = tmp_path / "ind.x.graph"
        path.write_bytes(content)
        return path

    return to_file


@pytest.mark.parametrize("dtype", ["<f4", ">f8", "<i4", "<i8", "|u1", "|b1"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays(write, dtype, order):
    array = np.asarray(np.arange(6).reshape(2, 3) % 2, dtype=dtype, order=order)
    read = read_pickle(write(pickle.dumps(array, protocol=4)))
    np.testing.assert_array_equal(read, array)
    assert read.flags.writeable


def test_matrices(write):
    matrix = sparse.csr_matrix(np.array([[0, 1.5], [2, 0]], dtype=np.float32))
    read = read_pickle(write(pickle.dumps(matrix, protocol=4)))
    assert isinstance(read, sparse.csr_array)
    np.testing.assert_array_equal(read.toarray(), matrix.toarray())


def test_arrays_as_python_2_wrote_them(write):
    array = b"\x80\x02cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R"
    dtype = b"cnumpy\ndtype\nU\x02i4K\x00K\x01\x87R(K\x03U\x01<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
    state = b"(K\x01K\x02\x85" + dtype + b"\x89U\x08\x05\x00\x00\x00\xff\xff\xff\xfftb."
    assert read_pickle(write(array + state)).tolist() == [5, -1]


def test_neighbour_lists(write):
    graph = defaultdict(list, {0: [1, 2], 1: [0]})
    assert read_pickle(write(pickle.dumps(graph, protocol=2))) == graph


def _call(path: str) -> bytes:
    """What every payload below tries: os.mkdir(path)."""
    return b"S'" + path.encode() + b"'\n"


PAYLOADS = {
    "reduce": (lambda path: b"cos\nmkdir\n(" + _call(path) + b"tR.", "os.mkdir"),
    "inst": (lambda path: b"(" + _call(path) + b"ios\nmkdir\n.", "os.mkdir"),
    "obj": (lambda path: b"(cos\nmkdir\n" + _call(path) + b"o.", "os.mkdir"),
    "newobj": (lambda path: b"\x80\x02cos\nmkdir\n(" + _call(path) + b"t\x81.", "os.mkdir"),
    "stack_global": (lambda path: b"\x80\x04\x8c\x02os\x8c\x05mkdir\x93(" + _call(path) + b"tR.", "os.mkdir"),
    "eval": (lambda path: b"c__builtin__\neval\n(" + _call(path) + b"tR.", "__builtin__.eval"),
    "dotted": (
        lambda path: b"\x80\x04\x8c\x05numpy\x8c\x0bdtype.mkdir\x93(" + _call(path) + b"tR.",
        "numpy.dtype.mkdir",
    ),
    "inside a list": (lambda path: b"(lp0\ncos\nmkdir\n(" + _call(path) + b"tRa.", "os.mkdir"),
    "persistent id": (lambda path: b"Pos.mkdir\n.", "persistent id"),
    "binary persistent id": (lambda path: _call(path) + b"Q.", "persistent id"),
}


@pytest.mark.parametrize("payload", PAYLOADS)
def test_payloads_are_named_and_not_run(write, tmp_path, payload):
    make, named = PAYLOADS[payload]
    proof = tmp_path / "proof"
    path = write(make(str(proof)))
    with pytest.raises(DataError) as caught:
        read_pickle(path)
    assert named in caught.value.message and repr(str(path)) in caught.value.message
    assert caught.value.exit_code == 4
    assert not proof.exists()


def test_the_payloads_are_real(tmp_path):
    """Without the restriction the same bytes do run: the test above proves something."""
    proof = tmp_path / "proof"
    pickle.loads(PAYLOADS["reduce"][0](str(proof)))
    assert proof.exists()


def test_registered_extensions_are_refused(write, tmp_path):
    copyreg.add_extension("os", "mkdir", 250)
    try:
        with pytest.raises(DataError, match=r"os\.mkdir"):
            read_pickle(write(b"\x80\x02\x82\xfa(" + _call(str(tmp_path / "proof")) + b"tR."))
    finally:
        copyreg.remove_extension("os", "mkdir", 250)
    assert not (tmp_path / "proof").exists()


def test_unregistered_extensions_are_refused(write):
    with pytest.raises(DataError, match="not a whole pickle"):
        read_pickle(write(b"\x80\x02\x82\xfb."))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"plain text",
        b"I7\n.",
        b"\x80\x02U\x03abc.",
        pickle.dumps(np.array(["text"]), protocol=4),
        pickle.dumps(np.eye(9), protocol=4)[:-40],
        pickle.dumps(np.eye(2), protocol=4).replace(b"K\x02K\x02\x86", b"K\x03K\x02\x86"),
    ],
)
def test_damage_is_a_data_error(write, content):
    with pytest.raises(DataError, match=r"ind\.x\.graph"):
        read_pickle(write(content))


def test_a_matrix_with_indices_out_of_range(write):
    matrix = sparse.csr_matrix(np.eye(2, dtype=np.float32))
    matrix.indices[0] = 7
    with pytest.raises(DataError, match="not an array, a matrix"):
        read_pickle(write(pickle.dumps(matrix, protocol=4)))


def test_missing_file(tmp_path):
    with pytest.raises(DataError, match="No such file"):
        read_pickle(tmp_path / "ind.x.graph")


NAMES = {"_Matrix": b"cscipy.sparse.csr\ncsr_matrix\n", "_Array": b"cnumpy\nndarray\n", "_Dtype": b"cnumpy\ndtype\n"}
NAMES |= {"_Neighbours": b"ccollections\ndefaultdict\n", "_List": b"c__builtin__\nlist\n"}


@pytest.mark.parametrize("state", [b"N}(U\x05buildNu\x86", b"}(U\x05buildNu"], ids=["slots", "dictionary"])
@pytest.mark.parametrize("name", NAMES)
def test_no_pickle_changes_the_reader_for_the_next(write, name, state):
    """BUILD sets attributes of what lies below it: here of the stand-in itself, not of an instance."""
    before = dict(vars(getattr(pickles, name)))
    with pytest.raises(DataError, match="Cannot use"):
        read_pickle(write(b"\x80\x02" + NAMES[name] + state + b"b."))
    assert dict(vars(getattr(pickles, name))) == before


@pytest.mark.parametrize("name", NAMES)
def test_an_instance_has_no_attributes_but_its_own(write, name):
    made = b"\x80\x02" + NAMES[name] + b")\x81N}(U\x05build" + NAMES["_Array"] + b"u\x86b."
    with pytest.raises(DataError, match="Cannot use"):
        read_pickle(write(made))


@pytest.mark.parametrize("put", [b"r\xff\xff\xff\x7f", b"p2147483647\n", b"p-1\n"])
def test_a_memo_is_no_larger_than_the_file(write, put):
    with pytest.raises(DataError):
        read_pickle(write(b"\x80\x02N" + put + b"."))


def test_lists_are_not_made_out_of_others(write):
    with pytest.raises(DataError, match="makes lists out of others"):
        read_pickle(write(b"\x80\x02c__builtin__\nlist\n]\x85R."))
