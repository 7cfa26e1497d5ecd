import pytest
import torch
from team_jobs import resumed, saved, steps
from teamwork import together

RUN = {
    **{"dataset": "planted", "layers": 2, "hidden": 2, "heads": 2, "batch_size": 16, "fanout": 3, "device": "cpu"},
    **{"optimizer": "sgd", "compress": "topk:0.1", "norm": "lip+batch", "schedule": "cosine", "epochs": 6},
}


def same(a, b):
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


@pytest.fixture
def folder(tmp_path):
    def make(name):
        (tmp_path / name).mkdir()
        return tmp_path / name

    return make


def test_workers_that_go_on_are_workers_that_never_stopped(folder):
    """S9: weights, memories, random streams and scores, of both of them."""
    whole = together(2, folder("whole"), steps, RUN, 5)
    checkpoint = folder("checkpoint")
    together(2, folder("first"), saved, RUN, 2, checkpoint)
    second = together(2, folder("second"), resumed, RUN, 3, checkpoint)
    for uninterrupted, (begun, ended) in zip(whole, second, strict=True):
        assert same(uninterrupted["weights"], ended["weights"])
        assert same(uninterrupted["exchange"], ended["exchange"])
        assert torch.equal(uninterrupted["stream"], ended["stream"])
        assert uninterrupted["losses"][2:] == ended["losses"]
        assert begun["earlier"] is None


@pytest.mark.parametrize("workers", [1, 3])
def test_another_number_of_workers_takes_over_what_was_kept(folder, workers):
    """What weights still have to get is the mean of all memories, before and after; and they go on from there."""
    checkpoint = folder("checkpoint")
    before = together(2, folder("first"), saved, RUN, 2, checkpoint)
    after = together(workers, folder("second"), resumed, RUN, 2, checkpoint)
    kept = [name for name in before[0]["exchange"] if name.startswith("memory.")]
    assert kept and any(before[0]["exchange"][name].any() for name in kept)
    for name in kept:
        was = torch.stack([each["exchange"][name] for each in before]).mean(dim=0)
        now = torch.stack([begun["exchange"][name] for begun, _ in after]).mean(dim=0)
        torch.testing.assert_close(now, was)
    assert {begun["earlier"] for begun, _ in after} == {2}
    assert all(same(after[0][1]["weights"], ended["weights"]) for _, ended in after)
    streams = [begun["stream"] for begun, _ in after]
    assert all(not torch.equal(one, other) for at, one in enumerate(streams) for other in streams[:at])


def test_one_process_that_sends_nothing_hands_on_no_memory(folder):
    dense = {**RUN, "compress": "none"}
    checkpoint = folder("checkpoint")
    (alone,) = together(1, folder("first"), saved, dense, 2, checkpoint)
    assert alone["exchange"] == {}
    for begun, ended in together(2, folder("second"), resumed, dense, 2, checkpoint):
        assert begun["earlier"] == 1 and begun["bits"] == (0, 0) and ended["bits"][0] > 0
        assert same(begun["weights"], alone["weights"])
