"""Options of training that contradict each other, and where theory ends."""

from __future__ import annotations

import pytest

from lipgnn.errors import UsageError
from lipgnn.spec.learning import learning_cautions, theory_caution
from lipgnn.spec.run import RunSpec


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"compress_memory": "off"}, "--compress none keeps none"),
        ({"compress_memory": "off", "compress": "qsgd:4"}, "--compress qsgd:4 keeps none"),
        ({"compress_memory": "off", "compress": "fp16"}, "--compress fp16 keeps none"),
        ({"compress_scale": "none"}, "has no such memory"),
        ({"compress_scale": "none", "compress": "powersgd:2"}, "has no such memory"),
        ({"compress_scale": "none", "compress": "topk:1", "compress_memory": "off"}, "has no such memory"),
        ({"shift": 5.0}, "--shift 5 is of schedule inverse and of optimizer memsgd"),
        ({"shift": 5.0, "optimizer": "sgd"}, "there is neither"),
        ({"stop_lr": 1e-8}, "--schedule none keeps it"),
        ({"stop_lr": 0.01, "schedule": "plateau", "lr": 0.01}, "would stop before the first step"),
    ],
)
def test_what_would_do_nothing_is_refused(options, reason):
    with pytest.raises(UsageError, match=reason):
        RunSpec(**options)


@pytest.mark.parametrize(
    "options",
    [
        {"compress": "topk:1", "compress_memory": "off"},
        {"compress": "powersgd:1", "compress_memory": "off"},
        {"compress": "randk:0.1", "compress_scale": "none", "optimizer": "sgd"},
        {"schedule": "inverse", "shift": 5.0},
        {"schedule": "plateau", "stop_lr": 1e-8},
        {"optimizer": "memsgd", "shift": 5.0},
        {"optimizer": "memsgd", "compress": "qsgd:2"},
    ],
)
def test_what_goes_together_is_not(options):
    RunSpec(**options)


def test_theory_ends_at_adam_and_without_memory():
    assert theory_caution(RunSpec()) is None
    assert theory_caution(RunSpec(optimizer="sgd", compress="topk:1")) is None
    assert "with Adam" in theory_caution(RunSpec(compress="topk:1"))
    assert "with Adam" in theory_caution(RunSpec(compress="fp16"))
    assert "without memory" in theory_caution(RunSpec(optimizer="sgd", compress="topk:1", compress_memory="off"))


def test_a_split_of_all_nodes_tests_on_what_it_trains_on():
    assert learning_cautions(RunSpec()) == []
    (caution,) = learning_cautions(RunSpec(split="all"))
    assert caution.startswith("Split all tests on the nodes that it trains on")
