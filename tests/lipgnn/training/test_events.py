from lipgnn.spec.run import RunSpec
from lipgnn.training.events import Started


def started(**changed):
    facts = {"run_id": "0" * 12, "spec": RunSpec(), "device": "cpu", "device_reason": "asked for"}
    facts |= {"kernel": "dgl", "kernel_reason": "asked for", "parameters": 1, "memory": None}
    return Started(**{**facts, "resumed_epoch": 0, "threads": 2, "earlier_threads": None, **changed})


def test_only_another_number_of_threads_is_worth_a_note():
    assert started().note is None
    assert started(resumed_epoch=3).note is None
    note = started(resumed_epoch=3, earlier_threads=1).note
    assert "1 thread up to epoch 3" in note and "goes on with 2" in note


def test_a_kernel_that_nobody_asked_for_is_worth_a_note_where_it_is_slow():
    reason = "the fused kernel needs a processor with AVX2"
    assert started().slower is None
    assert started(kernel="fused", kernel_reason="the fastest on this device").slower is None
    assert started(device="cuda:0", kernel_reason=reason).slower is None
    assert reason in started(kernel_reason=reason).slower
