"""Fetching from a server on this machine: what ends up in the data directory, and what never does."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import zipfile

import numpy as np
import pytest

from lipgnn.catalog import DATASETS
from lipgnn.datasets import read
from lipgnn.datasets.fetching import fetch as module
from lipgnn.datasets.fetching.fetch import fetch, make_offer, place_of
from lipgnn.datasets.fetching.placing import RECEIPT, changed_files
from lipgnn.errors import DataError, UsageError


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.setenv("LIPGNN_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.fixture
def server(serve, data, tmp_path, write_ogb, zip_folder, monkeypatch):
    """A mirror with an archive of ogbn-arxiv."""
    state = serve({"/ogb/arxiv.zip": zip_folder(write_ogb(tmp_path / "raw"), "arxiv")})
    monkeypatch.setenv("LIPGNN_OGB_URL", f"{state.url}/ogb/")
    return state


def _fetch():
    return fetch(make_offer("ogbn-arxiv"), lambda done: None)


def _left(data):
    """What is in the data directory besides the data set."""
    return sorted(str(path.relative_to(data)) for path in data.rglob("*") if "ogbn_arxiv" not in path.parts)


def test_an_offer_says_what_would_be_done_and_does_nothing(server, data):
    offer = make_offer("ogbn-arxiv")
    assert offer.url == f"{server.url}/ogb/arxiv.zip" and offer.size == len(server.files["/ogb/arxiv.zip"])
    assert (offer.have, offer.sha256, offer.place) == (0, None, data / "ogbn_arxiv")
    assert not data.exists() and [method for method, _, _ in server.requests] == ["HEAD"]


def test_without_a_mirror_it_is_the_address_of_the_catalog(data, monkeypatch):
    asked = []
    monkeypatch.setattr(module, "remote_size", lambda url: asked.append(url))
    make_offer("ogbn-proteins")
    assert asked == [DATASETS["ogbn-proteins"].url]


def test_what_was_fetched_can_be_read_and_leaves_nothing_else(server, data, tmp_path, same):
    digest = _fetch()
    assert digest == hashlib.sha256(server.files["/ogb/arxiv.zip"]).hexdigest()
    same(read("ogbn-arxiv"), read(tmp_path / "raw"))
    assert _left(data) == ["downloads"]
    receipt = json.loads((data / "ogbn_arxiv" / RECEIPT).read_bytes())
    assert receipt["sha256"] == digest and receipt["url"] == f"{server.url}/ogb/arxiv.zip"


def test_an_interrupted_download_is_gone_on_with(server, data):
    def interrupt(done):
        if done:
            raise KeyboardInterrupt

    whole = len(server.files["/ogb/arxiv.zip"])
    with pytest.raises(KeyboardInterrupt):
        fetch(make_offer("ogbn-arxiv"), interrupt)
    server.faults[:] = [100] * 3
    (data / "downloads" / "arxiv.zip.part").write_bytes(server.files["/ogb/arxiv.zip"][:50])
    with pytest.raises(DataError, match="connection ended") as caught:
        _fetch()
    assert "goes on where it stopped" in caught.value.hint
    assert not (data / "ogbn_arxiv").exists()
    assert make_offer("ogbn-arxiv").have == 350 < whole
    _fetch()
    assert server.requests[-1] == ("GET", "/ogb/arxiv.zip", "bytes=350-")
    assert changed_files(data / "ogbn_arxiv") == []


def test_no_network_says_which_file_to_put_where(data, monkeypatch):
    monkeypatch.setenv("LIPGNN_OGB_URL", "http://127.0.0.1:9/ogb")
    with pytest.raises(DataError) as caught:
        make_offer("ogbn-arxiv")
    assert "http://127.0.0.1:9/ogb/arxiv.zip" in caught.value.hint
    assert str(data / "ogbn_arxiv") in caught.value.hint
    assert not data.exists()


def test_a_known_checksum_is_compared(server, data, monkeypatch):
    right = hashlib.sha256(server.files["/ogb/arxiv.zip"]).hexdigest()
    for expected in ("0" * 64, right):
        monkeypatch.setitem(DATASETS, "ogbn-arxiv", dataclasses.replace(DATASETS["ogbn-arxiv"], sha256=expected))
        if expected == right:
            assert _fetch() == right
            continue
        with pytest.raises(DataError) as caught:
            _fetch()
        for part in (server.url, str(data / "ogbn_arxiv"), expected, right):
            assert part in caught.value.message
        assert _left(data) == ["downloads"] and not (data / "ogbn_arxiv").exists()


def test_another_archive_than_the_one_before_is_refused_until_accepted(server, data, tmp_path, write_ogb, zip_folder):
    first = _fetch()
    server.files["/ogb/arxiv.zip"] = zip_folder(write_ogb(tmp_path / "new", features=None), "arxiv")
    with pytest.raises(DataError, match=first):
        _fetch()
    assert read("ogbn-arxiv").num_features == 8
    (data / "ogbn_arxiv" / RECEIPT).unlink()
    _fetch()
    assert read("ogbn-arxiv").num_features == 0
    assert _left(data) == ["downloads"]


@pytest.mark.parametrize("what", ["cut", "web page", "other folder", "two folders", "climbs", "bomb", "empty"])
def test_what_is_no_archive_of_the_data_never_gets_in_place(server, data, tmp_path, what):
    path = tmp_path / "bad.zip"
    content = server.files["/ogb/arxiv.zip"]
    if what == "cut":
        path.write_bytes(content[: len(content) // 2])
    elif what == "web page":
        path.write_bytes(b"<html>Please log in</html>")
    else:
        path.write_bytes(content if what in ("two folders", "climbs", "bomb") else b"")
        with zipfile.ZipFile(path, "a" if path.stat().st_size else "w", zipfile.ZIP_DEFLATED) as archive:
            if what != "empty":
                archive.writestr("../evil" if what == "climbs" else "evil/x", bytes(10**8) if what == "bomb" else b"x")
    server.files["/ogb/arxiv.zip"] = path.read_bytes()
    with pytest.raises(DataError) as caught:
        _fetch()
    assert caught.value.exit_code == 4 and "arxiv.zip" in caught.value.message
    assert not (data / "ogbn_arxiv").exists() and not (tmp_path / "evil").exists()
    assert _left(data) == ["downloads"]


def test_changed_files(server, data):
    _fetch()
    folder = data / "ogbn_arxiv"
    assert changed_files(folder) == []
    (folder / "raw" / "edge.csv.gz").write_bytes(b"other")
    (folder / "split" / "time" / "test.csv.gz").unlink()
    assert sorted(changed_files(folder)) == ["raw/edge.csv.gz", "split/time/test.csv.gz"]
    (folder / RECEIPT).write_bytes(b"[]")
    assert changed_files(folder) is None


@pytest.mark.parametrize(
    ("name", "message"), [("cora", "comes with lipgnn"), ("texas", "not offered"), ("ogbn-arxive", "Unknown data set")]
)
def test_what_is_not_fetched_says_where_it_comes_from(data, name, message):
    with pytest.raises(UsageError, match=message) as caught:
        place_of(name)
    assert {"cora": "--dataset cora", "texas": "geom-gcn", "ogbn-arxive": "'ogbn-arxiv'"}[name] in caught.value.hint


def test_a_data_directory_that_cannot_be_written_to(server, data):
    data.write_text("a file")
    with pytest.raises(UsageError, match="Cannot write"):
        _fetch()


def test_an_archive_that_is_too_long_is_refused_before_its_first_byte(server, data, monkeypatch):
    size = len(server.files["/ogb/arxiv.zip"])
    known = dataclasses.replace(DATASETS["ogbn-arxiv"], largest=size - 1)
    monkeypatch.setitem(DATASETS, "ogbn-arxiv", known)
    with pytest.raises(DataError, match=f"{size:,} bytes, and {size - 1:,} were expected at most"):
        make_offer("ogbn-arxiv")
    assert [method for method, _, _ in server.requests] == ["HEAD"] and not data.exists()


def test_a_checksum_is_published_or_remembered(server, data, monkeypatch):
    digest = _fetch()
    offer = make_offer("ogbn-arxiv")
    assert (offer.sha256, offer.published) == (digest, False)
    monkeypatch.setitem(DATASETS, "ogbn-arxiv", dataclasses.replace(DATASETS["ogbn-arxiv"], sha256="0" * 64))
    offer = make_offer("ogbn-arxiv")
    assert (offer.sha256, offer.published) == ("0" * 64, True)


@pytest.mark.parametrize("receipt", ["[" * 100_000, "7", '{"sha256": 7, "files": {"a\\u0000": 1, "../x": []}}'])
def test_a_receipt_of_nonsense_is_as_good_as_none(server, data, receipt):
    _fetch()
    (data / "ogbn_arxiv" / RECEIPT).write_text(receipt)
    assert make_offer("ogbn-arxiv").sha256 is None
    assert changed_files(data / "ogbn_arxiv") in (None, ["a\0", "../x"])


@pytest.fixture
def file_server(serve, data, tmp_path, monkeypatch):
    """A server with one npz file, as the address of two data sets: one whose hash is known, and one of another kind."""
    index = np.arange(12)
    masks = {"train_masks": [index < 6], "val_masks": [index // 3 == 2], "test_masks": [index > 8]}
    edges = np.stack([index[:-1], index[1:]], axis=1)
    np.savez(tmp_path / "a.npz", node_features=np.eye(12, 3), node_labels=index % 2, edges=edges, **masks)
    state = serve({"/x/minesweeper.npz": (tmp_path / "a.npz").read_bytes()})
    state.files["/x/questions.npz"] = state.files["/x/minesweeper.npz"]
    for name in ("minesweeper", "questions"):
        changed = dataclasses.replace(DATASETS[name], url=f"{state.url}/x/{name}.npz")
        monkeypatch.setitem(DATASETS, name, changed)
    return state


def test_a_file_with_a_published_hash_must_have_it(file_server, data, monkeypatch):
    offer = make_offer("minesweeper")
    assert offer.published and offer.place == data / "heterophilous" / "minesweeper.npz"
    with pytest.raises(DataError, match=offer.sha256) as caught:
        fetch(offer, lambda done: None)
    assert caught.value.hint == "It was thrown away. Try again."
    assert not offer.place.exists()
    right = hashlib.sha256(file_server.files["/x/minesweeper.npz"]).hexdigest()
    monkeypatch.setitem(DATASETS, "minesweeper", dataclasses.replace(DATASETS["minesweeper"], sha256=right))
    assert fetch(make_offer("minesweeper"), lambda done: None) == right
    assert read("minesweeper").num_nodes == 12 and list(read("minesweeper").splits) == ["0"]


def test_a_file_without_one_is_remembered_at_first_sight(file_server, data):
    assert make_offer("questions").sha256 is None
    digest = fetch(make_offer("questions"), lambda done: None)
    offer = make_offer("questions")
    assert (offer.sha256, offer.published) == (digest, False)
    file_server.files["/x/questions.npz"] += b"x"
    with pytest.raises(DataError, match=digest) as caught:
        fetch(make_offer("questions"), lambda done: None)
    assert f"questions.npz.{RECEIPT}" in caught.value.hint
    assert changed_files(offer.place) == []


def test_a_file_that_is_too_long_is_not_downloaded(file_server, data, monkeypatch):
    monkeypatch.setitem(DATASETS, "questions", dataclasses.replace(DATASETS["questions"], largest=100))
    with pytest.raises(DataError, match="100 were expected at most") as caught:
        make_offer("questions")
    assert f"and put it at {str(data / 'heterophilous' / 'questions.npz')!r}" in caught.value.hint


def test_the_mirror_of_ogb_is_for_its_archives_alone(file_server, data, monkeypatch):
    monkeypatch.setenv("LIPGNN_OGB_URL", "http://127.0.0.1:9")
    assert make_offer("questions").url == f"{file_server.url}/x/questions.npz"
