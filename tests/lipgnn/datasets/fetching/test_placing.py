"""What was downloaded, in its place: a file that can be read, or nothing."""

from __future__ import annotations

import json

import numpy as np
import pytest

from lipgnn.datasets.fetching.placing import RECEIPT, changed_files, put_in_place, read_receipt, receipt_of
from lipgnn.errors import DataError

INDEX = np.arange(12)
MEMBERS = {
    "node_features": np.eye(12, 3),
    "node_labels": INDEX % 2,
    "edges": np.stack([INDEX[:-1], INDEX[1:]], axis=1),
    "train_masks": [INDEX < 6],
    "val_masks": [INDEX // 3 == 2],
    "test_masks": [INDEX > 8],
}


@pytest.fixture
def folders(tmp_path):
    for name in ("downloads", "files"):
        (tmp_path / name).mkdir()
    with open(tmp_path / "downloads" / "a.npz.part", "wb") as file:
        np.savez(file, **MEMBERS)
    return tmp_path / "downloads" / "a.npz.part", tmp_path / "files" / "a.npz"


def test_a_file_gets_its_name_and_a_receipt_beside_it(folders):
    download, place = folders
    content = download.read_bytes()
    put_in_place(download, place, url="https://x/a.npz", digest="d" * 64)
    assert place.read_bytes() == content and not download.exists()
    assert receipt_of(place) == place.with_name(f"a.npz.{RECEIPT}")
    assert read_receipt(place) == {
        "schema": 1,
        "url": "https://x/a.npz",
        "size": len(content),
        "sha256": "d" * 64,
        "files": {"a.npz": "d" * 64},
    }
    assert sorted(path.name for path in place.parent.iterdir()) == ["a.npz", f"a.npz.{RECEIPT}"]
    assert list(download.parent.iterdir()) == []


def test_a_file_is_held_against_its_receipt(folders):
    from lipgnn.datasets.fetching.download import sha256_of_file

    download, place = folders
    assert changed_files(place) is None
    put_in_place(download, place, url="https://x/a.npz", digest=sha256_of_file(download))
    assert changed_files(place) == []
    place.write_bytes(place.read_bytes() + b"x")
    assert changed_files(place) == ["a.npz"]


@pytest.mark.parametrize("what", ["web page", "cut", "other arrays"])
def test_what_cannot_be_read_never_gets_in_place(folders, what):
    download, place = folders
    place.write_bytes(b"earlier")
    if what == "web page":
        download.write_bytes(b"<html>404</html>")
    elif what == "cut":
        download.write_bytes(download.read_bytes()[:-40])
    else:
        with open(download, "wb") as file:
            np.savez(file, x=np.ones(2))
    with pytest.raises(DataError, match="no data set in an npz file") as caught:
        put_in_place(download, place, url="https://x/a.npz", digest="d" * 64)
    assert "'https://x/a.npz'" in caught.value.message
    assert place.read_bytes() == b"earlier" and not receipt_of(place).exists()


def test_a_receipt_of_nonsense_is_as_good_as_none(folders):
    _, place = folders
    for nonsense in ("[" * 100_000, "7", json.dumps({"files": 7})):
        receipt_of(place).write_text(nonsense)
        assert changed_files(place) is None
