import numpy as np
import pytest

import lipgnn
from lipgnn.api.places import data_of, options_of, resolved, store_at
from lipgnn.datasets import read
from lipgnn.errors import UsageError


def test_the_store_is_that_of_the_command_line(monkeypatch, tmp_path):
    assert str(store_at(None).root) == "results"
    monkeypatch.setenv("LIPGNN_RESULTS", str(tmp_path / "a"))
    assert store_at(None).root == tmp_path / "a"
    assert store_at(tmp_path / "b").root == tmp_path / "b"


def test_data_is_saved_and_read_back(own, tmp_path):
    assert lipgnn.save(own, tmp_path / "mine.npz") == tmp_path / "mine.npz"
    back = read(tmp_path / "mine.npz")
    np.testing.assert_array_equal(back.features, own.features)
    assert back.node_ids.tolist() == own.node_ids.tolist() and back.class_names == own.class_names
    with pytest.raises(UsageError, match="is none"):
        lipgnn.save(own, tmp_path / "mine.csv")
    with pytest.raises(UsageError, match="in a file already"):
        lipgnn.save("cora", tmp_path / "cora.npz")


def test_options_are_plain_values():
    assert options_of({"layers": np.int32(3), "lr": np.float64(0.5), "norm": None}) == {"layers": 3, "lr": 0.5}
    assert type(options_of({"layers": np.int32(3)})["layers"]) is int


def test_data_in_memory_has_its_name_in_the_run(own):
    spec = resolved(own, {"layers": 3})
    assert (spec.dataset, spec.layers) == ("memory:mine", 3)
    assert data_of(spec, own).fingerprint == data_of(resolved("planted", {}), None).fingerprint
