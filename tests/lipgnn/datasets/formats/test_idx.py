"""Folders of idx files: read byte by byte, plain or gzipped; damaged ones are refused with one sentence."""

import gzip
import struct

import numpy as np
import pytest
from pictures import idx_bytes, write_idx_folder

from lipgnn.datasets.formats import detect
from lipgnn.datasets.formats.idx import Idx, read_idx, read_idx_folder
from lipgnn.errors import DataError

IMAGES, LABELS = "train-images-idx3-ubyte", "train-labels-idx1-ubyte"


@pytest.mark.parametrize("shape", [(5,), (3, 4), (2, 3, 4), (0,)])
@pytest.mark.parametrize("packed", [True, False])
def test_arrays_come_back(tmp_path, shape, packed):
    array = np.random.RandomState(0).randint(0, 256, shape)
    content = idx_bytes(array)
    path = tmp_path / ("a.gz" if packed else "a")
    path.write_bytes(gzip.compress(content) if packed else content)
    np.testing.assert_array_equal(read_idx(path), array)


def test_a_file_written_by_hand(tmp_path):
    """Two images of 1 × 2 pixels, as the description of the format says it."""
    (tmp_path / "a").write_bytes(bytes([0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2, 7, 8, 9, 255]))
    assert read_idx(tmp_path / "a").tolist() == [[[7, 8]], [[9, 255]]]


@pytest.mark.parametrize("packed", [True, False])
def test_a_folder(tmp_path, packed):
    pictures = read_idx_folder(write_idx_folder(tmp_path / "mine", packed=packed))
    assert (pictures.name, pictures.side, pictures.num_classes, pictures.images.shape) == ("mine", 8, 3, (72, 8, 8))
    assert pictures.test.sum() == 12 and pictures.test[60:].all()
    assert pictures.labels.tolist() == [*(np.arange(60) % 3), *(np.arange(12) % 3)]
    assert isinstance(detect(tmp_path / "mine"), Idx)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "does not begin as an idx file"),
        (b"\0", "does not begin as an idx file"),
        (b"\0\0\x08", "does not begin as an idx file"),
        (b"PK\x03\x04" + bytes(100), "does not begin as an idx file"),
        (struct.pack(">HBBI", 0, 13, 1, 1) + bytes(4), "does not begin as an idx file of unsigned bytes"),
        (struct.pack(">HBB", 0, 8, 0), "does not begin as an idx file"),
        (struct.pack(">HBB", 0, 8, 9) + bytes(100), "does not begin as an idx file"),
        (struct.pack(">HBBI", 0, 8, 3, 5), "it ends within its header"),
        (idx_bytes(np.zeros((60, 8, 8)))[:-1], "it has 3,839 values, and its header says 3,840"),
        (idx_bytes(np.zeros((60, 8, 8))) + b"x", "it has 3,841 values, and its header says 3,840"),
        (struct.pack(">HBBIII", 0, 8, 3, 2**32 - 1, 2**32 - 1, 2**32 - 1), "it has 0 values, and its header says"),
        (idx_bytes(np.zeros((60, 8))), "it has 2 dimensions, and images have 3"),
        (idx_bytes(np.zeros((59, 8, 8))), r"labels of shape \(60,\) for 59 images"),
        (idx_bytes(np.zeros((60, 8, 7))), "images are of shape"),
        (idx_bytes(np.zeros((60, 4, 4))), "images are of shape"),
    ],
)
def test_damaged_images_are_refused(tmp_path, content, reason):
    folder = write_idx_folder(tmp_path / "mine", packed=False)
    (folder / IMAGES).write_bytes(content)
    with pytest.raises(DataError, match=reason) as caught:
        read_idx_folder(folder)
    assert "Cannot use" in caught.value.message


def test_truncated_gzip_is_refused(tmp_path):
    folder = write_idx_folder(tmp_path / "mine")
    whole = (folder / f"{IMAGES}.gz").read_bytes()
    for end in (0, 5, len(whole) // 2, len(whole) - 1):
        (folder / f"{IMAGES}.gz").write_bytes(whole[:end])
        with pytest.raises(DataError, match="Cannot use"):
            read_idx_folder(folder)


def test_a_missing_file_is_named(tmp_path):
    folder = write_idx_folder(tmp_path / "mine")
    (folder / f"{LABELS}.gz").unlink()
    with pytest.raises(DataError, match=LABELS):
        read_idx_folder(folder)


def test_labels_of_another_count_end_the_command_with_4(tmp_path, lipgnn):
    folder = write_idx_folder(tmp_path / "mine", packed=False)
    (folder / LABELS).write_bytes(idx_bytes(np.zeros(61)))
    done = lipgnn("train", "--dataset", str(folder), check=4)
    assert "it has labels of shape (61,) for 60 images" in done.stderr


def test_real_mnist(raw_data):
    """Its published counts, and the first labels that everybody knows."""
    if not (raw_data / "mnist").is_dir():
        pytest.skip("MNIST is not among the raw data")
    pictures = read_idx_folder(raw_data / "mnist")
    assert pictures.images.shape == (70000, 28, 28) and pictures.test.sum() == 10000
    assert pictures.labels[:5].tolist() == [5, 0, 4, 1, 9]
    assert pictures.labels[60000:60005].tolist() == [7, 2, 1, 0, 4]
    assert np.bincount(pictures.labels[:60000]).tolist() == [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
