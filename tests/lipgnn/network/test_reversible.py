"""The reversible stack: it inverts, its gradients are autograd's, and depth costs it no activations."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from networks import bare
from torch import nn

from lipgnn.catalog import FEATURE_NORMS, MODELS, models_with
from lipgnn.errors import UsageError
from lipgnn.network.deep import DeepGNN
from lipgnn.network.recompute import run_blocks
from lipgnn.network.reversible import halves, run_reversible
from lipgnn.nn.spread import spread_of
from lipgnn.training.divergence import first_nonfinite_output

ATTENTION_MODELS = models_with("attention")
PAIRS = [
    *itertools.product(sorted(set(MODELS) - set(models_with("closed"))), ["none", *FEATURE_NORMS]),
    *itertools.product(ATTENTION_MODELS, ["lip", "lip+pair", "lip+batch"]),
]


def network(reference, *, dtype=torch.float64, **options) -> DeepGNN:
    torch.manual_seed(0)
    values = {"layers": 5, "hidden": 4, "heads": 2, "residual": "scaled", "stack": "reversible"} | options
    return bare(3, 2, **values).to(dtype)


def step(deep: DeepGNN, reference, run=None):
    """Output, gradients, buffers and the next random number of one step, the blocks run by `run`."""
    torch.manual_seed(1)
    dtype = deep.decoder.weight.dtype
    x = deep.encoder(reference.normal(0, 7, 3, dtype=dtype))
    out = deep.decoder((run or deep.run)(deep.blocks, reference.small_graph(), x))
    nn.functional.cross_entropy(out, torch.arange(7) % 2).backward()
    named = {name: p.grad.clone() for name, p in deep.named_parameters()}
    deep.zero_grad()
    return {"out": out.detach(), **named, **dict(deep.named_buffers()), "next": torch.rand(3)}


@pytest.mark.parametrize(("model", "norm"), PAIRS)
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-10), (torch.float32, 1e-5)])
def test_gradients_are_those_of_autograd_through_the_same_blocks(dtype, tolerance, model, norm, reference):
    options = {"model": model, "norm": norm, "attn_dropout": 0.3, "dtype": dtype}
    expected = step(network(reference, **options), reference, run_blocks)
    received = step(network(reference, **options), reference)
    assert received.keys() == expected.keys() and len(received) > 8
    for name, value in expected.items():
        size = value.double().abs().max().item()
        torch.testing.assert_close(received[name], value, atol=tolerance * max(1.0, size), rtol=tolerance, msg=name)


@pytest.mark.parametrize("sharing, shared_dim", [("collab", 0), ("collab", 6), ("mqa", 0), ("mqa", 6), ("gqa:2", 4)])
def test_shared_heads_are_halved_as_well_and_have_the_gradients_of_autograd(sharing, shared_dim, reference):
    options = {"model": "gt", "norm": "lip", "head_sharing": sharing, "shared_dim": shared_dim}
    deep = network(reference, **options)
    conv, full = deep.blocks[0].f.conv, {"collab": 8, "mqa": 4}.get(sharing)
    assert conv.shared_dim == (shared_dim or full) // 2
    expected, received = step(network(reference, **options), reference, run_blocks), step(deep, reference)
    for name, value in expected.items():
        torch.testing.assert_close(received[name], value, atol=1e-10, rtol=1e-10, msg=name)


def test_the_layer_is_the_published_one(reference):
    """Written out for the first half of the channels and the second, with s = 1/√L."""
    deep, graph = network(reference, norm="lip+layer", layers=3).eval(), reference.small_graph()
    x = reference.normal(2, 7, 8)
    for block in deep.blocks:
        x1, x2 = x[:, :4], x[:, 4:]
        y1 = x1 + block.f(graph, x2.contiguous()) / math.sqrt(3)
        y2 = x2 + block.g(graph, y1) / math.sqrt(3)
        y = torch.cat([y1, y2], dim=1)
        torch.testing.assert_close(block(graph, x), y)
        x = y


def test_the_whole_stack_equals_its_blocks_in_both_modes(reference):
    graph, x = reference.small_graph(), reference.normal(0, 7, 8)
    deep = network(reference, norm="lip")
    assert torch.equal(run_reversible(deep.blocks, graph, x), run_blocks(deep.blocks, graph, x))
    features = reference.normal(0, 7, 3)
    with_gradient = deep.eval()(graph, features)
    with torch.no_grad():
        assert torch.equal(deep(graph, features), with_gradient)


def test_sixty_layers_invert(reference):
    """The gradient at the first block goes through all inversions, in single precision."""
    options = {"layers": 60, "norm": "lip+layer", "residual": "identity", "dtype": torch.float32}
    expected = step(network(reference, **options), reference, run_blocks)
    received = step(network(reference, **options), reference)
    for name in ("encoder.weight", "blocks.0.f.conv.fc.weight", "blocks.0.g.norm.weight"):
        difference = torch.linalg.vector_norm(received[name] - expected[name])
        assert difference < 1e-3 * torch.linalg.vector_norm(expected[name])


def kept_bytes(layers: int, reference, **options) -> tuple[int, int]:
    """Bytes kept by autograd beside the parameters, and the largest memory of a step by the count of its tensors."""
    from lipgnn.training.memory import _Allocations

    deep = network(reference, layers=layers, norm="lip", attn_dropout=0.2, dtype=torch.float32, **options)
    own = {parameter.data_ptr() for parameter in deep.parameters()}
    graph = reference.build([(i, (i * 7 + k) % 100) for i in range(100) for k in range(4)], nodes=100)
    x = torch.randn(100, 3)
    storages = {}

    def pack(tensor):
        if tensor.data_ptr() not in own:
            storages[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with _Allocations() as allocations:
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            out = deep(graph, x)
        out.sum().backward()
    gradients = sum(p.grad.nbytes for p in deep.parameters())
    return sum(storages.values()), allocations.peak - gradients


def test_activation_memory_does_not_grow_with_depth(reference):
    kept, peak = zip(*(kept_bytes(layers, reference) for layers in (10, 40)), strict=True)
    assert kept[0] == kept[1] > 0
    assert peak[1] < 1.1 * peak[0]
    plain = [kept_bytes(layers, reference, stack="plain")[0] for layers in (10, 40)]
    assert plain[1] > 3 * plain[0]


def test_attention_is_that_of_f_then_that_of_g(reference):
    graph, x = reference.small_graph(), reference.normal(0, 7, 3)
    deep = network(reference, norm="lip", layers=2).eval()
    inputs = deep.encoder(x)
    for block, weights in zip(deep.blocks, deep.attention(graph, x), strict=True):
        assert weights.shape == (graph.num_edges(), 4)
        x1, x2 = halves(inputs)
        first = block.f.conv(graph, x2, get_attention=True)[1].squeeze(-1)
        torch.testing.assert_close(weights[:, :2], first)
        y1 = x1 + block.scale * block.f(graph, x2)
        torch.testing.assert_close(weights[:, 2:], block.g.conv(graph, y1, get_attention=True)[1].squeeze(-1))
        torch.testing.assert_close(tuple(block.spread(graph, inputs)), tuple(spread_of(graph, weights)))
        inputs = block(graph, inputs)


def test_a_frozen_parameter_gets_no_gradient_and_changes_no_other(reference):
    expected = step(network(reference), reference)
    deep = network(reference)
    frozen = deep.blocks[1].f.conv.fc.weight.requires_grad_(False)
    torch.manual_seed(1)
    out = deep.decoder(deep.run(deep.blocks, reference.small_graph(), deep.encoder(reference.normal(0, 7, 3))))
    nn.functional.cross_entropy(out, torch.arange(7) % 2).backward()
    assert frozen.grad is None
    for name, parameter in deep.named_parameters():
        if parameter is not frozen:
            torch.testing.assert_close(parameter.grad, expected[name])


def test_weights_changed_before_the_gradient_are_noticed(reference):
    deep = network(reference)
    out = deep(reference.small_graph(), reference.normal(0, 7, 3))
    with torch.no_grad():
        deep.blocks[0].f.conv.bias.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


def test_a_layer_that_is_not_finite_is_named(reference):
    deep = network(reference)
    with torch.no_grad():
        deep.blocks[2].g.conv.bias[0] = float("nan")
    assert first_nonfinite_output(deep, reference.small_graph(), reference.normal(0, 7, 3)) == "layer 3"


def test_no_tensor_is_made_on_a_default_device(reference):
    deep, graph, x = network(reference, attn_dropout=0.2, norm="lip+batch"), reference.small_graph(), torch.ones(7, 3)
    torch.set_default_device("meta")
    try:
        deep(graph, x.double()).sum().backward()
    finally:
        torch.set_default_device(None)
    assert all(p.grad.isfinite().all() for p in deep.parameters())


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"residual": "none"}, "needs a residual"),
        ({"hidden": 3}, "hidden is 3"),
        ({"recompute_every": 2}, "keeps no act"),
    ],
)
def test_what_cannot_be_reversed_is_refused(options, problem, reference):
    with pytest.raises(UsageError, match=problem):
        network(reference, **options)


def test_second_derivatives_are_refused_and_never_left_out(reference):
    deep = network(reference, kernel="dgl")
    x = reference.normal(0, 7, 8).requires_grad_()
    out = run_reversible(deep.blocks, reference.small_graph(), x) + x.exp()
    (grad,) = torch.autograd.grad(out.sum(), x, create_graph=True)
    with pytest.raises(UsageError, match="Reversible networks have no second derivatives"):
        torch.autograd.grad(grad.sum(), x)
