"""How far a network of a run looks, as plain values."""

from __future__ import annotations

import json

import pytest
import torch

from lipgnn.diagnose.data import WholeData
from lipgnn.diagnose.reach import numbers_of
from lipgnn.diagnose.subject import new_subject
from lipgnn.measures.reach import Reach, look_far
from lipgnn.spec.run import RunSpec

CPU = torch.device("cpu")


def look(targets=4, **options):
    spec = RunSpec(**{"dataset": "planted", "layers": 3, "hidden": 2, "heads": 2, "device": "cpu", **options})
    subject = new_subject(spec)
    return subject, look_far(subject.network.train(), WholeData.of(spec, subject.dataset, CPU).batch, targets)


def test_it_is_of_the_network_in_evaluation_and_leaves_it_as_it_was():
    subject, found = look(dropout=0.5, layer_dropout=0.5)
    before = {name: value.clone() for name, value in subject.network.state_dict().items()}
    again = look_far(subject.network, WholeData.of(subject.spec, subject.dataset, CPU).batch, 4)
    assert found == again
    assert subject.network.training
    assert (found.targets, len(found.shares), found.beyond) == (4, 4, 0)
    assert all(torch.equal(value, before[name]) for name, value in subject.network.state_dict().items())
    assert all(parameter.grad is None for parameter in subject.network.parameters())


def test_of_many_graphs_the_targets_are_their_roots():
    """The root of a tree of radius 2 hears of three levels; the leaves hear of nobody."""
    _, found = look(dataset="trees:2", features="raw", model="ggnn", norm="layer", residual="identity", bias="layers")
    assert found.nodes == (1, 2, 4, 0)


def test_plain_values_have_a_row_a_distance_and_none_for_what_is_not_finite():
    found = numbers_of(Reach(3, (0.5, 0.25), 0.25, (0.2, 0.8), (1.0, 4.0)))
    assert found["distances"][1] == {"distance": 1, "share": 0.25, "walk": 0.8, "nodes": 4.0}
    assert (found["targets"], found["beyond"]) == (3, 0.25)
    assert (found["mean_distance"], found["walk_distance"]) == (pytest.approx(1 / 3), pytest.approx(0.8))
    nothing = numbers_of(Reach(3, (float("nan"),) * 2, float("nan"), (0.2, 0.8), (1.0, 4.0)))
    assert (nothing["mean_distance"], nothing["beyond"], nothing["distances"][0]["share"]) == (None, None, None)
    json.dumps(nothing, allow_nan=False)
