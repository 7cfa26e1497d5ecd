import torch

from lipgnn.tasks.batches.whole import WholeGraph


def test_an_epoch_is_one_step_from_the_training_nodes(small_spec, load_for):
    data = load_for(small_spec)
    batches = WholeGraph(small_spec, data, torch.device("cpu"))
    (batch,) = batches.epoch(1)
    assert torch.equal(batch.items, data.train_mask.nonzero().flatten())
    logits = torch.randn(data.num_nodes, 4)
    assert torch.equal(batch.of_items(logits), logits[data.train_mask])
    (everything,) = batches.everything()
    assert everything.graph is batch.graph is batches.whole().graph
    assert everything.of_items(logits) is logits
    assert torch.equal(everything.items, torch.arange(data.num_nodes))
