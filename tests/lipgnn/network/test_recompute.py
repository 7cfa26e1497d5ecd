"""Blocks computed twice: the gradients, the random numbers and the statistics of BatchNorm are those of once."""

from __future__ import annotations

import pytest
import torch
from networks import bare
from torch import nn

from lipgnn.network.recompute import Randomness, buffers_kept

CASES = [
    ("gat", "lip+pair"),
    ("gat", "lip+batch"),
    ("gt", "lip+layer"),
    ("gcn", "batch"),
    ("gin", "none"),
    ("ggnn", "pair"),
]


def step(reference, every: int, **options):
    """Logits, gradients, buffers and the next random number after one step with everything random switched on."""
    torch.manual_seed(0)
    deep = bare(
        3,
        2,
        layers=7,
        hidden=2,
        heads=2,
        residual="scaled",
        dropout=0.3,
        attn_dropout=0.3,
        recompute_every=every,
        **options,
    )
    out = deep(reference.small_graph(), reference.normal(0, 7, 3, dtype=torch.float32))
    nn.functional.cross_entropy(out, torch.arange(7) % 2).backward()
    return [out.detach(), *(p.grad for p in deep.parameters()), *deep.buffers(), torch.rand(3)]


@pytest.mark.parametrize("every", [1, 2, 3, 7, 100])
@pytest.mark.parametrize(("model", "norm"), CASES)
def test_a_step_with_checkpoints_is_the_step_without_bit_for_bit(model, norm, every, reference):
    without = step(reference, 0, model=model, norm=norm)
    for a, b in zip(without, step(reference, every, model=model, norm=norm), strict=True):
        assert torch.equal(a, b)


@pytest.mark.parametrize(("every", "twice"), [(1, 6), (2, 5), (3, 4), (4, 3), (7, 0), (9, 0)])
def test_all_blocks_but_the_last_few_are_computed_twice(every, twice, reference):
    deep = bare(3, 2, layers=7, hidden=2, heads=2, recompute_every=every)
    calls = [0] * 7
    for number, block in enumerate(deep.blocks):
        block.register_forward_pre_hook(lambda *_, number=number: calls.__setitem__(number, calls[number] + 1))
    deep(reference.small_graph(), reference.normal(0, 7, 3, dtype=torch.float32)).sum().backward()
    assert calls == [2] * twice + [1] * (7 - twice)
    calls[:] = [0] * 7
    deep.eval()(reference.small_graph(), reference.normal(0, 7, 3, dtype=torch.float32)).sum().backward()
    assert calls == [1] * 7


def saved_bytes(deep, reference) -> int:
    """Bytes that autograd keeps between forward and backward, each storage once."""
    storages = {}

    def pack(tensor):
        storages[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        out = deep(reference.small_graph(), reference.normal(0, 7, 3, dtype=torch.float32))
    assert out.requires_grad
    return sum(storages.values())


def test_fewer_activations_are_kept(reference):
    options = {"layers": 16, "hidden": 2, "heads": 2, "norm": "lip", "residual": "scaled", "kernel": "dgl"}
    kept = {every: saved_bytes(bare(3, 2, recompute_every=every, **options), reference) for every in (0, 8, 4)}
    assert kept[4] < 0.45 * kept[0] and kept[8] < 0.7 * kept[0]


def test_randomness_repeats_itself_and_leaves_no_trace():
    torch.manual_seed(0)
    moment = Randomness.now(torch.device("cpu"))
    drawn = torch.rand(3)
    state = torch.get_rng_state()
    with moment.again():
        assert torch.equal(torch.rand(3), drawn)
    assert torch.equal(torch.get_rng_state(), state)


def test_a_state_that_did_not_move_is_kept_once():
    device = torch.device("cpu")
    first = Randomness.now(device)
    assert Randomness.now(device, first) is first
    torch.rand(1)
    assert Randomness.now(device, first) is not first


def test_buffers_come_back_as_they_were_even_after_an_error():
    norm = nn.Sequential(nn.BatchNorm1d(3))
    before = {name: (buffer, buffer.clone()) for name, buffer in norm.named_buffers()}
    with pytest.raises(KeyError), buffers_kept(norm):
        norm(torch.randn(5, 3))
        assert norm[0].num_batches_tracked == 1
        raise KeyError
    for name, buffer in norm.named_buffers():
        assert buffer is before[name][0] and torch.equal(buffer, before[name][1])


def test_there_may_be_many_ways_back_through_blocks_that_are_computed_again(reference):
    """Each with the same gradients as the first, and with buffers as they were."""
    torch.manual_seed(0)
    deep = bare(3, 2, layers=5, hidden=2, heads=2, norm="batch", recompute_every=2)
    out = deep(reference.small_graph(), reference.normal(0, 7, 3, dtype=torch.float32))
    buffers = [buffer.clone() for buffer in deep.buffers()]
    first, second = (torch.autograd.grad(out.sum(), deep.encoder.weight, retain_graph=True)[0] for _ in range(2))
    assert torch.equal(first, second)
    assert all(map(torch.equal, deep.buffers(), buffers))
