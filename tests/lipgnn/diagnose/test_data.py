"""What is diagnosed is what was trained on: the loss and the accuracies are those of the run."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from lipgnn.diagnose.data import WholeData
from lipgnn.spec.run import RunSpec
from lipgnn.tasks import load
from lipgnn.training.state import Training

CPU = torch.device("cpu")


@pytest.mark.parametrize("batch_size", [0, 16])
def test_loss_and_accuracy_are_those_of_the_training(small_spec, load_for, batch_size):
    spec = small_spec.with_values(norm="lip", attn_dropout=0.0, dropout=0.0, batch_size=batch_size)
    dataset = load_for(spec)
    training = Training(spec, dataset, CPU)
    record = training.step()
    data = WholeData.of(spec, dataset, CPU)
    with torch.no_grad():
        logits = training.network.eval()(data.graph, data.features)
    assert data.loss(logits).item() == pytest.approx(record.train_loss, rel=1e-5)
    assert data.accuracy(logits) == {
        part: pytest.approx(getattr(record, f"{part}_score")) for part in ("train", "val", "test")
    }


def test_of_many_trees_it_is_a_batch_and_the_logits_are_those_of_the_roots():
    spec = RunSpec(
        dataset="trees:2", model="gat", norm="none", layers=3, hidden=4, heads=2, batch_size=10, device="cpu"
    )
    dataset = load("trees:2")
    training = Training(spec, dataset, CPU)
    data = WholeData.of(spec, dataset, CPU)
    assert len(data.labels) == 10
    with torch.no_grad():
        logits = training.network.eval()(data.graph, data.features)
        first = next(training.batches.everything())
        expected = first.of_items(training.network(first.graph, first.features))
    torch.testing.assert_close(logits[:10], expected)


def test_a_part_without_items_or_logits_that_are_not_finite_have_no_accuracy(small_spec, load_for):
    data = WholeData.of(small_spec, load_for(small_spec), CPU)
    empty = replace(data, parts={**data.parts, "val": data.parts["val"][:0]})
    logits = torch.zeros(len(data.labels), 4)
    assert empty.accuracy(logits)["val"] is None
    assert empty.accuracy(logits)["test"] is not None
    assert set(data.accuracy(logits * torch.nan).values()) == {None}


def test_chance_is_the_commonest_class_or_the_middle_of_an_order(small_spec, load_for):
    data = WholeData.of(small_spec, load_for(small_spec), CPU)
    assert data.chance == 0.25
    train = data.parts["train"]
    few = torch.cat([train[data.labels[train] == 0][:3], train[data.labels[train] == 1][:1]])
    assert replace(data, parts={**data.parts, "train": few}).chance == 0.75
    assert replace(data, parts={**data.parts, "train": few[:0]}).chance is None
    assert replace(data, metric="roc-auc").chance == 0.5
    assert replace(data, metric="average-precision").chance is None
