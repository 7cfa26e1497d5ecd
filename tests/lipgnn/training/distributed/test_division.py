import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lipgnn.errors import UsageError
from lipgnn.spec.run import RunSpec
from lipgnn.tasks import find_task, load
from lipgnn.tasks.batches import Batch, Share
from lipgnn.training.distributed.division import divide, stream, weight_of

CPU = torch.device("cpu")
SMALL = {"hidden": 2, "heads": 2, "device": "cpu", "layers": 2}
RUNS = {
    "nodes": RunSpec(dataset="planted", batch_size=7, **SMALL),
    "trees": RunSpec(dataset="trees:2", features="raw", batch_size=7, **SMALL),
    "images": RunSpec(
        dataset="digits:4", features="raw", split="random:0:3:2", model="gt", norm="none", batch_size=7, **SMALL
    ),
    "paths": RunSpec(dataset="planar:200", features="raw", batch_size=1, **SMALL),
}


@given(st.integers(0, 300), st.integers(1, 20))
def test_shares_are_exact(count, world):
    """Every thing is one worker's, in order, and no worker has two more than another."""
    shares = [Share(rank, world).of(list(range(count))) for rank in range(world)]
    assert [thing for share in shares for thing in share] == list(range(count))
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


@pytest.mark.parametrize(
    "name, world", [("nodes", 2), ("nodes", 9), ("trees", 2), ("trees", 9), ("images", 9), ("paths", 3)]
)
def test_no_item_is_lost_or_doubled(name, world):
    """Of every step and of every evaluation; who has none computes another's, which does not count."""
    spec = RUNS[name]
    dataset = load(spec.dataset, split=spec.split, missing=spec.missing, features=spec.features)
    task = find_task(dataset.task)
    batches = task.batches(spec, dataset, CPU)
    whole = [batch.items.tolist() for batch in batches.epoch(3)]
    everything = torch.cat([batch.items for batch in batches.everything()]).tolist()
    steps, evaluations = [], []
    for rank in range(world):
        batches.share = Share(rank, world)
        steps.append(list(batches.epoch(3)))
        # Nodes of a whole graph are divided in every layer; see test_evaluation.py.
        evaluations += [] if name == "nodes" else [batch.items for batch in batches.everything()]
    for number, items in enumerate(whole):
        own = [step[number] for step in steps]
        assert torch.cat([batch.items for batch in own if not batch.idle]).tolist() == items
        assert all(len(batch.items) == 1 for batch in own if batch.idle)
        assert all(batch.among.tolist() == items for batch in own)
        assert sum(weight_of(batch, task, batches.labels) for batch in own) == pytest.approx(1, abs=1e-12)
    assert {len(step) for step in steps} == {len(whole)}
    if evaluations:
        assert torch.cat(evaluations).tolist() == everything


@pytest.mark.parametrize("name", ["nodes", "labels", "paths"])
def test_the_loss_of_a_batch_is_the_mean_of_its_shares_by_their_weights(name):
    torch.manual_seed(0)
    logits = torch.randn(11, 3, dtype=torch.float64)
    labels = {
        "nodes": torch.randint(3, (11,)),
        "labels": torch.where(torch.rand(11, 3) < 0.4, torch.nan, torch.randint(2, (11, 3)).double()),
        "paths": torch.rand(11, dtype=torch.float64),
    }[name]
    task, items = find_task(name), torch.arange(11)
    parts = 0.0
    for rank in range(3):
        own, said = Share(rank, 3).cut(items)
        batch = Batch(None, None, own, **said)
        parts += weight_of(batch, task, labels) * task.loss(logits[own], labels[own])
    torch.testing.assert_close(parts, task.loss(logits, labels))


def test_alone_a_batch_is_the_whole():
    items = torch.arange(5)
    assert Share().cut(items) == (items, {})
    assert weight_of(Batch(None, None, items), find_task("nodes"), items) == 1


def test_batches_that_do_not_say_how_are_not_divided():
    class Foreign:
        pass

    divide(Foreign(), Share(), RUNS["nodes"])
    with pytest.raises(UsageError, match="cannot be divided among 2 workers"):
        divide(Foreign(), Share(1, 2), RUNS["nodes"])


def test_streams_differ():
    seeds = [stream(seed, rank, epoch) for seed in (0, 2**32 - 1) for rank in range(3) for epoch in (0, 1, 10**5)]
    assert len(set(seeds)) == len(seeds) and min(seeds) >= 0 and max(seeds) < 2**63
    assert stream(5, 0) == 5
    assert np.all(np.array(seeds) >= 0)
