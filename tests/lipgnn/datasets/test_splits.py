"""Splits by name: those of the data, random ones, and Geom-GCN's files."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lipgnn.datasets import read
from lipgnn.datasets.splits import choose, only_as_it_is, random_split
from lipgnn.errors import DataError, UsageError


def test_a_split_of_the_data(make_source):
    source = make_source()
    assert choose(source, "public") is source.splits["public"]


def test_a_split_may_be_asked_for_by_its_number(make_source):
    split = make_source().splits["public"]
    assert choose(make_source(splits={"0": split, "1": split}), "1") is split
    geom_gcn = make_source(name="texas", splits={"geom-gcn:3": split})
    assert choose(geom_gcn, "3") is choose(geom_gcn, "geom-gcn:3") is split
    with pytest.raises(UsageError, match="has no split 'geom-gcn:4'"):
        choose(geom_gcn, "4")


@given(
    seed=st.integers(0, 2**29),
    train=st.integers(1, 10),
    val=st.integers(0, 10),
    sizes=st.lists(st.integers(21, 40), min_size=1, max_size=4),
    unknown=st.integers(0, 5),
)
def test_random_splits_have_their_counts(seed, train, val, sizes, unknown):
    labels = np.concatenate([np.full(unknown, -1), np.repeat(np.arange(len(sizes)), sizes)])
    labels = np.random.RandomState(seed).permutation(labels)
    split = random_split(labels, seed, train, val)
    total = sum(mask.astype(int) for mask in split.parts.values())
    np.testing.assert_array_equal(total, labels >= 0)
    for label, size in enumerate(sizes):
        counts = [int((mask & (labels == label)).sum()) for mask in split.parts.values()]
        assert counts == [train, val, size - train - val]


def test_random_splits_follow_their_seed():
    source = read("cora")
    one, again, other = (choose(source, f"random:{seed}") for seed in (1, 1, 2))
    assert [int(mask.sum()) for mask in one.parts.values()] == [140, 210, 2358]
    np.testing.assert_array_equal(one.train, again.train)
    assert not np.array_equal(one.train, other.train)
    np.testing.assert_array_equal(one.train, choose(source, "random:1:20:30").train)
    assert int(choose(source, "random:1:5:10").train.sum()) == 35


def test_random_split_is_the_same_for_ever():
    # Drawn once with numpy 2.4; numpy promises that RandomState keeps its stream.
    split = random_split(np.repeat([0, 1], 6), 7, 2, 1)
    assert [np.flatnonzero(mask).tolist() for mask in split.parts.values()] == [
        [3, 5, 10, 11],
        [0, 9],
        [1, 2, 4, 6, 7, 8],
    ]


def test_a_class_too_small_says_what_to_do(make_source):
    with pytest.raises(UsageError) as caught:
        choose(make_source(), "random:3")
    assert "Class 0 has 2 nodes" in caught.value.message
    assert "random:3:TRAIN:VAL" in caught.value.hint and "< 2" in caught.value.hint


@pytest.mark.parametrize(
    "name", ["", "Public", "random", "random:", "random:-1", "random:1:2", "random:x", "geom-gcn:0", "geom-gcn:../x"]
)
def test_unknown_splits_list_what_exists(make_source, tmp_path, name):
    with pytest.raises(UsageError) as caught:
        choose(make_source(), name, data_dir=tmp_path)
    assert repr(name) in caught.value.message
    assert "public" in caught.value.hint and "random:SEED" in caught.value.hint


def test_nothing_to_train_on(make_source):
    with pytest.raises(UsageError, match="at least one training node"):
        choose(make_source(), "random:1:0:0")


@pytest.mark.parametrize("folder", ["geom-gcn/splits", "splits"])
def test_split_files_of_the_data_directory(make_source, tmp_path, folder):
    (tmp_path / folder).mkdir(parents=True)
    masks = {"train_mask": [1, 0, 0, 0, 0, 1], "val_mask": [0, 1, 0, 0, 0, 0], "test_mask": [0, 0, 1, 1, 0, 0]}
    np.savez(tmp_path / folder / "small_split_0.6_0.2_4.npz", **masks)
    split = choose(make_source(), "geom-gcn:4", data_dir=tmp_path)
    # Node 5 has no label, so it is in no mask.
    assert [np.flatnonzero(mask).tolist() for mask in split.parts.values()] == [[0], [1], [2, 3]]


def test_a_split_file_of_other_data(make_source, tmp_path):
    (tmp_path / "splits").mkdir()
    np.savez(tmp_path / "splits" / "small_split_0.6_0.2_0.npz", train_mask=[1, 0], val_mask=[0, 1], test_mask=[0, 0])
    with pytest.raises(DataError, match=r"small_split_0.6_0.2_0.npz'.*not a mask of 6 nodes"):
        choose(make_source(), "geom-gcn:0", data_dir=tmp_path)


@pytest.mark.parametrize(
    ("name", "sizes"),
    # Geom-GCN's files put CiteSeer's 15 unlabelled nodes into masks too: 1596, 1065 and 666 with them.
    [("cora", (1192, 796, 497)), ("citeseer", (1589, 1059, 664)), ("pubmed", (9463, 6310, 3944))],
)
def test_geom_gcn_splits_of_shipped_data(raw_data, name, sizes):
    source = read(name)
    split = choose(source, "geom-gcn:1", data_dir=raw_data)
    assert not (source.labels[split.train | split.val | split.test] < 0).any()
    assert tuple(int(mask.sum()) for mask in split.parts.values()) == sizes


def test_several_labels_have_no_random_split(make_source):
    with pytest.raises(UsageError, match="several labels") as caught:
        choose(make_source(labels=np.ones((6, 2), np.float32)), "random:0")
    assert "public" in caught.value.hint


def test_the_split_file_of_an_undirected_form_is_that_of_the_data(make_source, tmp_path):
    (tmp_path / "splits").mkdir()
    masks = dict(zip(("train_mask", "val_mask", "test_mask"), np.eye(3, 6, dtype=bool), strict=True))
    np.savez(tmp_path / "splits" / "small_split_0.6_0.2_3.npz", **masks)
    split = choose(make_source(name="small:undirected"), "geom-gcn:3", data_dir=tmp_path)
    np.testing.assert_array_equal(np.stack(list(split.parts.values())), np.eye(3, 6, dtype=bool))


def test_data_that_is_given_once_for_all_has_no_other_options():
    only_as_it_is("x", split="public", missing=0.0, features="raw")
    for changed in ({"split": "0"}, {"missing": 0.1}, {"features": "row"}):
        with pytest.raises(UsageError, match=f"'x' has no other {next(iter(changed))} than"):
            only_as_it_is("x", **{"split": "public", "missing": 0.0, "features": "raw", **changed})


@pytest.mark.parametrize("split", ["public", "random:0", "geom-gcn:0"])
def test_data_without_labels_has_no_split(make_source, split):
    with pytest.raises(DataError, match="no node has a label"):
        choose(make_source(labels=np.full(6, -1), splits={}), split)


def test_all_is_every_node_with_a_label_in_every_part(make_source):
    source = make_source()
    split = choose(source, "all")
    for mask in split.parts.values():
        assert (mask == source.labelled).all()
