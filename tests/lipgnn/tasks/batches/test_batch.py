import pytest
import torch
from networks import network_of

from lipgnn.spec.sources import resolve
from lipgnn.tasks import find_task, load, task_of
from lipgnn.tasks.batches import logits_of
from lipgnn.tasks.batches.batch import Batch, generator_of, parts_of, shuffled
from lipgnn.tasks.batches.sampled import SampledNodes
from lipgnn.tasks.batches.trees import TreeBatches
from lipgnn.tasks.batches.whole import WholeGraph

CPU = torch.device("cpu")


@pytest.mark.parametrize(
    "dataset, size, kind", [("planted", 0, WholeGraph), ("planted", 9, SampledNodes), ("trees:2", 9, TreeBatches)]
)
def test_the_source_of_batches_is_that_of_the_data(dataset, size, kind):
    spec = resolve({"dataset": dataset, "batch_size": size}, {}).spec
    assert type(task_of(dataset).batches(spec, load(dataset), CPU)) is kind


@pytest.mark.parametrize("size", [0, 40])
def test_the_logits_of_all_are_in_the_order_of_the_items(size):
    spec = resolve({"dataset": "trees:2", "batch_size": size}, {}).spec
    data = load("trees:2")
    network = network_of(spec, data.num_features, data.num_classes).eval()
    batches = find_task(data.task).batches(spec, data, CPU)
    logits = logits_of(network, batches)
    assert logits.shape == (96, 5)
    assert not logits.requires_grad
    single = batches._batch(torch.tensor([57]))
    torch.testing.assert_close(logits[57:58], network(single.graph, single.features).detach())


def test_rows_are_where_the_items_are():
    logits = torch.randn(6, 2)
    batch = Batch(None, logits, torch.tensor([8, 9]), slice(2))
    assert torch.equal(batch.of_items(logits), logits[:2])


def test_parts_are_the_split():
    data = load("planted")
    parts = parts_of(data, CPU)
    assert {part: items.tolist() for part, items in parts.items()} == {
        part: mask.nonzero()[0].tolist() for part, mask in data.split.parts.items()
    }


def test_what_is_drawn_depends_on_seed_and_epoch():
    items = torch.arange(50, 100)
    orders = [shuffled(items, generator_of(*pair)).tolist() for pair in ((0, 1), (0, 1), (0, 2), (1, 1))]
    assert orders[0] == orders[1]
    assert len({tuple(order) for order in orders}) == 3
    assert all(sorted(order) == items.tolist() for order in orders)
