"""Images by name or path: forms, splits and fingerprints."""

import numpy as np
import pytest
from pictures import write_idx_folder
from scipy import ndimage

from lipgnn.datasets import read
from lipgnn.datasets.images import (
    ANGLES_SEED,
    form_of,
    has_images,
    identify_images,
    load_images,
    pooled,
    read_pictures,
    turned,
)
from lipgnn.errors import DataError, UsageError


def test_digits_are_those_of_scikit_learn():
    sklearn = pytest.importorskip("sklearn.datasets", reason="scikit-learn is what they are compared with")
    theirs, ours = sklearn.load_digits(), load_images("digits")
    np.testing.assert_array_equal(ours.images * 16, theirs.images)
    np.testing.assert_array_equal(ours.labels_array, theirs.target)
    assert (ours.shape, ours.side, ours.images.max(), ours.task) == ((1, 10), 8, 1.0, "images")


@pytest.mark.parametrize("split", ["public", "random:1", "random:2:30:20"])
def test_splits_have_three_parts_without_a_common_image(split):
    data = load_images("digits", split=split)
    masks = list(data.split.parts.values())
    assert np.sum(masks, axis=0).max() == 1 and all(mask.any() for mask in masks)
    sizes = [int(mask.sum()) for mask in masks]
    assert sizes == ([300, 200, 1297] if split == "random:2:30:20" else [1199, 299, 299])
    if split == "random:2:30:20":
        assert np.bincount(data.labels_array[data.split.train]).tolist() == [30] * 10


def test_a_seed_is_a_split():
    """Frozen for ever: the indices come from numpy's RandomState."""
    first = load_images("digits", split="random:3").split
    order = np.random.RandomState(3).permutation(1797)
    np.testing.assert_array_equal(np.flatnonzero(first.val), np.sort(order[:299]))
    np.testing.assert_array_equal(np.flatnonzero(first.test), np.sort(order[299:598]))
    assert (load_images("digits").split.val == load_images("digits", split="random:0").split.val).all()


@pytest.mark.parametrize("split", ["public", "random:5:6:2"])
def test_a_published_test_part_stays(tmp_path, split):
    folder = str(write_idx_folder(tmp_path / "mine"))
    data = load_images(folder, split=split)
    assert np.flatnonzero(data.split.test).tolist() == list(range(60, 72))
    sizes = [int(mask.sum()) for mask in data.split.parts.values()]
    assert sizes == ([50, 10, 12] if split == "public" else [18, 6, 12])


@pytest.mark.parametrize(
    ("split", "reason"),
    [
        ("0", "no split '0'"),
        ("geom-gcn:0", "no split"),
        ("random:0:0:5", "at least one training"),
        ("random:0:20:0", "nothing to validate on"),
        ("random:0:900:900", "too few"),
    ],
)
def test_other_splits_are_refused(split, reason):
    with pytest.raises(UsageError, match=reason):
        load_images("digits", split=split)


@pytest.mark.parametrize("options", [{"missing": 0.5}, {"features": "svd"}, {"features": "row"}])
def test_features_are_the_pixels(options):
    with pytest.raises(UsageError, match="has no other"):
        load_images("digits", **options)


def test_forms_are_told_apart():
    assert form_of("mnist") == ("mnist", 0, False)
    assert form_of("mnist:14") == ("mnist", 14, False)
    assert form_of("mnist:14:rotated") == ("mnist", 14, True)
    assert form_of("a/b:c:rotated") == ("a/b:c", 0, True)
    with pytest.raises(UsageError, match="without a pixel"):
        form_of("mnist:0")


def test_turned_images_are_scipys():
    images = load_images("digits").images[:20]
    angles = np.random.RandomState(ANGLES_SEED).uniform(0, 360, 20)
    for image, found, angle in zip(images, turned(images), angles, strict=True):
        np.testing.assert_array_equal(found, ndimage.rotate(image, angle, order=1, reshape=False))
    assert angles.min() < 60 and angles.max() > 300
    whole = load_images("digits:rotated")
    np.testing.assert_array_equal(whole.images[:20], turned(images))
    assert whole.images.min() >= 0 and whole.images.max() <= 1


def test_pooled_pixels_are_means():
    images = np.random.RandomState(0).rand(3, 6, 6)
    small = pooled(images, 2)
    for row in range(2):
        for column in range(2):
            block = images[:, 3 * row : 3 * row + 3, 3 * column : 3 * column + 3]
            np.testing.assert_allclose(small[:, row, column], block.mean(axis=(1, 2)))
    assert pooled(images, 6) is images


def test_sizes_that_do_not_divide_are_refused():
    with pytest.raises(UsageError, match="have 8 × 8 pixels and do not pool to 3 × 3") as caught:
        load_images("digits:3")
    assert caught.value.hint == "Use a divisor of 8."


def test_fingerprints_are_of_images_form_and_split():
    names = ("digits", "digits:4", "digits:rotated", "digits:4:rotated")
    prints = [identify_images(name, split=split) for name in names for split in ("public", "random:1")]
    assert len(set(prints)) == 8
    assert load_images("digits:4:rotated").fingerprint == prints[6]
    assert identify_images("digits", split="random:0") == identify_images("digits:8") == prints[0] == "0518b788546ad788"


def test_folders_by_path_and_by_name(tmp_path):
    folder = write_idx_folder(tmp_path / "mnist")
    assert load_images("mnist", data_dir=tmp_path).fingerprint == load_images(str(folder)).fingerprint
    assert load_images("mnist:4:rotated", data_dir=tmp_path).images.shape == (72, 4, 4)
    assert has_images("digits:rotated") and has_images("mnist") and has_images(str(folder)) and not has_images("cora")
    assert has_images(f"{folder}:4") and read_pictures(folder).side == 8
    with pytest.raises(DataError, match="'fashion' is not in the data directory") as caught:
        load_images("fashion", data_dir=tmp_path)
    assert "four idx files" in caught.value.hint


def test_images_are_no_graph(tmp_path):
    with pytest.raises(UsageError, match="'digits' is images"):
        read("digits")
    with pytest.raises(DataError, match="it is no folder of images"):
        read_pictures(tmp_path)


def test_a_damaged_file_of_digits_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("lipgnn.datasets.images.locate", lambda *_, **__: tmp_path / "digits.npz")
    np.savez(tmp_path / "digits.npz", labels=np.zeros(40, dtype=int))
    with pytest.raises(DataError, match="member 'images' is missing"):
        load_images("digits")
