import csv
import importlib.util

import numpy as np
import pytest

from lipgnn.errors import EnvironmentBroken, UsageError
from lipgnn.predict.prediction import Prediction
from lipgnn.predict.writing import check_suffix, write_prediction


@pytest.fixture
def prediction():
    """Ids and names that are hard to write, and numbers of which every digit counts."""
    numbers = np.random.RandomState(0).rand(4, 3).astype(np.float32)
    ids = np.array(["=1+1", 'a "b", c', "ü\nx", "007"])
    chosen = numbers.argmax(axis=1)
    return Prediction(ids, ("Neural Networks", "a,b", "-"), numbers, chosen, numbers[:, 0] / 3, numbers[:, 1] / 7e8)


def test_csv_is_read_back_exactly(prediction, tmp_path):
    write_prediction(prediction, tmp_path / "p.csv")
    with open(tmp_path / "p.csv", newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    assert header == ["id", "predicted", "probability", "margin", "radius", "p_Neural Networks", "p_a,b", "p_-"]
    columns = list(zip(*rows, strict=True))
    assert list(columns[0]) == prediction.ids.tolist() and list(columns[1]) == prediction.predicted.tolist()
    np.testing.assert_array_equal(np.float32(columns[5:]).T, prediction.probabilities)
    np.testing.assert_array_equal(np.float32(columns[3]), prediction.margin)
    np.testing.assert_array_equal(np.float32(columns[4]), prediction.radius)


def test_npz_is_read_back_exactly_and_holds_no_objects(prediction, tmp_path):
    write_prediction(prediction, tmp_path / "p.npz")
    with np.load(tmp_path / "p.npz", allow_pickle=False) as read:
        assert set(read) == {"ids", "classes", "probabilities", "chosen", "margin", "radius"}
        for name in read:
            np.testing.assert_array_equal(read[name], np.array(getattr(prediction, name)))


@pytest.mark.real("pyarrow")
def test_parquet_is_read_back_exactly(prediction, tmp_path):
    from pyarrow import parquet

    write_prediction(prediction, tmp_path / "p.parquet")
    read = parquet.read_table(tmp_path / "p.parquet").to_pydict()
    for name, column in prediction.columns().items():
        assert read[name] == column.tolist()


def test_what_is_not_there_is_left_out(prediction, tmp_path):
    bare = Prediction(prediction.ids, prediction.classes, prediction.probabilities)
    write_prediction(bare, tmp_path / "p.csv")
    write_prediction(bare, tmp_path / "p.npz")
    assert (tmp_path / "p.csv").read_text().startswith("id,p_Neural Networks,")
    with np.load(tmp_path / "p.npz") as read:
        assert set(read) == {"ids", "classes", "probabilities"}


def test_other_files_are_refused(tmp_path, prediction):
    with pytest.raises(UsageError, match=r"\.csv, \.parquet, \.npz"):
        write_prediction(prediction, tmp_path / "p.xlsx")
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(importlib.util.find_spec("pyarrow") is not None, reason="pyarrow is installed")
def test_without_pyarrow_parquet_is_refused_before_anything_is_computed(tmp_path):
    with pytest.raises(EnvironmentBroken, match="pyarrow"):
        check_suffix(tmp_path / "p.parquet")
