import json
import zipfile

import pytest

from lipgnn.errors import DataError, Interrupted, UsageError
from lipgnn.files import sha256
from lipgnn.results.claims import Held
from lipgnn.results.packing import pack, unpack
from lipgnn.results.store import Store
from lipgnn.training.loop import train


@pytest.fixture
def halfway(small_spec, load_for):
    """Compute a run in a store until an epoch; gives the run."""

    def compute(store, epochs=3):
        asked = iter([False] * (epochs - 1) + [True])
        with pytest.raises(Interrupted):
            list(train(small_spec, load_for(small_spec), store, record=["gradients"], should_stop=lambda: next(asked)))
        (path,) = store.runs_path.iterdir()
        return store.run(path.name)

    return compute


@pytest.fixture
def packed(halfway, tmp_path):
    file = tmp_path / "x.run.zip"
    assert pack(halfway(Store(tmp_path / "a")), file) == 3
    return file


def changed(file, **contents):
    """The pack with other members, all with their digests; None takes a member out."""
    with zipfile.ZipFile(file) as archive:
        members = {one: archive.read(one) for one in archive.namelist()}
    listed = json.loads(members.pop("pack.json"))
    for name, content in contents.items():
        members[name] = content
        if content is None:
            del members[name]
    listed["files"] = {name: sha256(content) for name, content in members.items()}
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in {"pack.json": json.dumps(listed), **members}.items():
            archive.writestr(name, content)


def test_a_run_goes_on_elsewhere_to_the_same_last_bit(packed, small_spec, load_for, tmp_path):
    there, whole = Store(tmp_path / "b"), Store(tmp_path / "whole")
    run_id, spec, epoch = unpack(packed, there)
    assert (spec.computed(kernel=small_spec.kernel, device=small_spec.device), epoch) == (small_spec, 3)
    events = list(train(small_spec, load_for(small_spec), there))
    assert events[0].resumed_epoch == 3
    list(train(small_spec, load_for(small_spec), whole, record=["gradients"]))
    for name in ("best.safetensors", "gradients.safetensors"):
        assert (there.run(run_id).path / name).read_bytes() == (whole.run(run_id).path / name).read_bytes()


def test_a_store_that_is_as_far_keeps_its_own(packed, halfway, tmp_path):
    store = Store(tmp_path / "c")
    run = halfway(store, epochs=3)
    with pytest.raises(UsageError, match="is at epoch 3"):
        unpack(packed, store)
    assert unpack(packed, store, force=True) == (run.id, *unpack(packed, Store(tmp_path / "d"))[1:])


def test_only_an_unfinished_run_that_nobody_computes_is_packed(halfway, small_spec, load_for, tmp_path):
    store = Store(tmp_path / "e")
    run = halfway(store)
    with run.claim(), pytest.raises(Held):
        pack(store.run(run.id), tmp_path / "never.zip")
    list(train(small_spec, load_for(small_spec), store))
    with pytest.raises(UsageError, match="is finished"):
        pack(run, tmp_path / "never.zip")
    assert not (tmp_path / "never.zip").exists()


def test_tensors_that_have_not_their_final_name_yet_are_packed(halfway, tmp_path):
    """A kill between the two steps of a checkpoint leaves them so."""
    run = halfway(Store(tmp_path / "f"))
    (run.path / "last.safetensors").rename(run.path / "last.next.safetensors")
    (run.path / "last.safetensors").write_bytes(b"of the checkpoint before")
    pack(run, tmp_path / "y.run.zip")
    assert unpack(tmp_path / "y.run.zip", Store(tmp_path / "g"))[2] == 3
    (run.path / "last.safetensors").write_bytes(b"damaged")
    with pytest.raises(DataError, match="no tensors have the digest"):
        pack(run, tmp_path / "z.run.zip")


@pytest.mark.parametrize(
    ("contents", "words"),
    [
        ({"../../evil.txt": b"x"}, "not those of a run"),
        ({"log.jsonl": None}, "not those of a run"),
        ({"last.safetensors": b"other tensors"}, "of different runs"),
        ({"spec.json": b"{}"}, "says no run"),
        ({"last.json": b"[]"}, "is no object"),
    ],
)
def test_a_foreign_or_damaged_pack_changes_nothing(packed, contents, words, tmp_path):
    changed(packed, **contents)
    with pytest.raises(DataError, match=words):
        unpack(packed, Store(tmp_path / "h"))
    assert not (tmp_path / "h").exists()


def test_a_flipped_bit_a_compressed_member_and_no_zip_are_refused(packed, tmp_path):
    content = bytearray(packed.read_bytes())
    at = content.index(b"last.safetensors") + 600
    content[at] ^= 1
    packed.write_bytes(content)
    with pytest.raises(DataError, match="damaged"):
        unpack(packed, Store(tmp_path / "i"))
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("pack.json", b"0" * 10**6)
    with pytest.raises(DataError, match="compressed"):
        unpack(packed, Store(tmp_path / "i"))
    packed.write_bytes(b"PK nothing")
    with pytest.raises(DataError, match="cannot be read"):
        unpack(packed, Store(tmp_path / "i"))
