import pytest

from lipgnn.errors import UsageError
from lipgnn.results.conditions import is_meant, split_condition


def test_a_condition_has_a_field_and_values():
    assert split_condition("lr=0.5,1e-3", ["lr"]) == ("lr", ["0.5", "1e-3"])
    assert split_condition("where=a=b", ["where"]) == ("where", ["a=b"])
    for wrong in ("lr", "rate=1"):
        with pytest.raises(UsageError):
            split_condition(wrong, ["lr"])


def test_a_text_means_a_value_as_text_as_number_or_as_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert is_meant("norm", "lip", "lip") and not is_meant("norm", "li", "lip")
    assert is_meant("lr", "5e-1", 0.5) and is_meant("layers", "2.0", 2) and not is_meant("layers", "two", 2)
    assert is_meant("dataset", "./x.npz", str(tmp_path / "x.npz")) and not is_meant("norm", "x", str(tmp_path / "x"))
    assert not is_meant("seed", "1", None)
