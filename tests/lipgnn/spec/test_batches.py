import pytest

from lipgnn.errors import UsageError
from lipgnn.spec.batches import check_batches, check_workers
from lipgnn.spec.run import RunSpec


def test_samples_of_one_graph_are_not_inverted():
    check_batches("plain", 8)
    check_batches("reversible", 0)
    with pytest.raises(UsageError, match="same nodes in every layer"):
        check_batches("reversible", 8)


def test_a_whole_graph_is_not_divided_and_batches_are():
    check_workers(1, 0)
    check_workers(2, 8)
    with pytest.raises(UsageError, match="3 workers cannot divide") as refusal:
        RunSpec(workers=3)
    assert "--batch-size" in refusal.value.hint
    for dataset in ("trees:2", "planar:200", "digits:4"):
        assert RunSpec(dataset=dataset, workers=3, model="gt").workers == 3
