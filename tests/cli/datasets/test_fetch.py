import dataclasses
import json

import numpy as np
import pytest

from lipgnn.catalog import DATASETS
from lipgnn.datasets import read


@pytest.fixture
def server(serve, tmp_path, write_ogb, zip_folder, monkeypatch):
    state = serve({"/arxiv.zip": zip_folder(write_ogb(tmp_path / "raw"), "arxiv")})
    monkeypatch.setenv("LIPGNN_OGB_URL", state.url)
    return state


def test_fetch_then_verify_then_train(invoke, data, server):
    code, out, err = invoke("datasets", "fetch", "ogbn-arxiv")
    assert (code, out) == (0, "")
    size = f"{len(server.files['/arxiv.zip']) / 1000:.1f} kB"
    # Address, size and checksum are there before the first byte.
    before = err[: err.index("0 bytes of")]
    for part in (
        f"{server.url}/arxiv.zip",
        size,
        "none published, and the way is not encrypted",
        str(data / "ogbn_arxiv"),
    ):
        assert part in before
    assert f"{size} of {size}" in err and "sha256" in err[err.index("Fetched") :]
    assert read("ogbn-arxiv").num_nodes == 60
    assert json.loads(invoke("datasets", "verify", "ogbn-arxiv", "--json")[1])[0]["verdict"] == "whole"
    assert invoke("train", "--dataset", "ogbn-arxiv", "--layers", 1, "--epochs", 1)[0] == 0


def test_what_is_there_is_left_unless_forced(invoke, data, server):
    arguments = ("datasets", "fetch", "ogbn-arxiv", "--json")
    first = json.loads(invoke(*arguments)[1])[0]
    server.requests.clear()
    code, out, err = invoke(*arguments)
    assert code == 0 and json.loads(out)[0]["status"] == "there" and "already" in err
    assert not server.requests
    code, out, err = invoke(*arguments, "--force")
    assert code == 0 and json.loads(out)[0] == first and f"sha256 {first['sha256']}" in err[: err.index("0 bytes of")]


def test_verify_finds_what_was_changed_since(invoke, data, server):
    invoke("datasets", "fetch", "ogbn-arxiv")
    (data / "ogbn_arxiv" / "raw" / "num-edge-list.csv.gz").write_bytes(
        (data / "ogbn_arxiv" / "raw" / "num-edge-list.csv.gz").read_bytes() + b"\0"
    )
    code, out, _ = invoke("datasets", "verify", "ogbn-arxiv", "--json")
    assert code == 4 and json.loads(out)[0]["verdict"] == "damaged"


def test_without_a_network_it_says_what_to_put_where(invoke, data, monkeypatch):
    monkeypatch.setenv("LIPGNN_OGB_URL", "http://127.0.0.1:9")
    code, out, err = invoke("datasets", "fetch", "ogbn-arxiv")
    assert (code, out) == (4, "")
    assert "http://127.0.0.1:9/arxiv.zip" in err and str(data / "ogbn_arxiv") in err
    assert not data.exists()


@pytest.mark.parametrize(("name", "words"), [("texas", "not offered"), ("ogbn-arxvi", "Did you mean 'ogbn-arxiv'")])
def test_a_wrong_name_is_refused_before_the_right_one_is_fetched(invoke, data, server, name, words):
    code, _, err = invoke("datasets", "fetch", "ogbn-arxiv", name)
    assert code == 2 and words in err
    assert not server.requests and not data.exists()


def test_nothing_to_fetch_is_wrong_use(invoke):
    assert invoke("datasets", "fetch")[0] == 2


def test_it_says_whether_a_checksum_is_published_or_remembered(invoke, data, server):
    assert "the sha256 of this first download is kept" in invoke("datasets", "fetch", "ogbn-arxiv")[2]
    assert "as it was when first fetched here" in invoke("datasets", "fetch", "ogbn-arxiv", "--force")[2]


def test_a_file_is_fetched_shown_and_verified(invoke, data, serve, tmp_path, monkeypatch):
    index = np.arange(12)
    masks = {"train_masks": [index < 6], "val_masks": [index // 3 == 2], "test_masks": [index > 8]}
    edges = np.stack([index[:-1], index[1:]], axis=1)
    np.savez(tmp_path / "a.npz", node_features=np.eye(12, 3), node_labels=index % 2, edges=edges, **masks)
    state = serve({"/tolokers.npz": (tmp_path / "a.npz").read_bytes()})
    unknown = dataclasses.replace(DATASETS["tolokers"], url=f"{state.url}/tolokers.npz", sha256=None)
    monkeypatch.setitem(DATASETS, "tolokers", unknown)
    code, out, err = invoke("datasets", "fetch", "tolokers", "--json")
    (row,) = json.loads(out)
    assert code == 0 and row["path"] == str(data / "heterophilous" / "tolokers.npz")
    assert "the sha256 of this first download is kept" in err
    assert json.loads(invoke("datasets", "verify", "tolokers", "--json")[1])[0]["verdict"] == "whole"
    assert "lipgnn train --dataset tolokers\n" in invoke("datasets", "show", "tolokers")[2]
    known = dataclasses.replace(unknown, sha256=row["sha256"])
    monkeypatch.setitem(DATASETS, "tolokers", known)
    assert "as it is published" in invoke("datasets", "verify", "tolokers")[1]
    (data / "heterophilous" / "tolokers.npz").write_bytes(state.files["/tolokers.npz"] + b"x")
    code, out, _ = invoke("datasets", "verify", "tolokers", "--json")
    assert code == 4 and json.loads(out)[0]["verdict"] == "damaged"
