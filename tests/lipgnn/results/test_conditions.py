import pytest

from lipgnn.errors import UsageError
from lipgnn.results.conditions import find_value, is_meant, order, split_condition


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
    assert is_meant("tags", "paper", ("old", "paper")) and not is_meant("tags", "pap", ("paper",))


def test_a_value_that_is_not_there_is_refused_with_those_that_are():
    assert find_value("layers", "2.0", [2, 3]) == 2
    with pytest.raises(UsageError, match="Unknown value of status 'failled'") as caught:
        find_value("status", "failled", {"done", "failed"})
    assert caught.value.hint == "Did you mean 'failed'? Valid: done, failed."
    with pytest.raises(UsageError) as caught:
        find_value("tags", "papr", {("paper", "old"), ("old",)})
    assert caught.value.hint == "Did you mean 'paper'? Valid: old, paper."


def test_order_is_that_of_the_catalog_then_of_numbers_and_letters():
    norms = ["pair", "own", "lip+layer", "lip", "none"]
    assert sorted(norms, key=lambda name: order("norm", name)) == ["none", "lip", "lip+layer", "pair", "own"]
    assert sorted([10, 9, 2], key=lambda layers: order("layers", layers)) == [2, 9, 10]
    assert sorted(["b", "cora", "a", "planted"], key=lambda n: order("dataset", n)) == ["cora", "planted", "a", "b"]
