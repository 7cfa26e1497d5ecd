"""A way back has ended when every gradient of the layers is there, and not before."""

import pytest
import torch
from networks import bare

from lipgnn.catalog import models_with
from lipgnn.training.recorders.way_back import go_back, when_back

CASES = [("linear", "gat"), *(("none", model) for model in models_with("value_map"))]


def network(encoder, model, layers=3):
    torch.manual_seed(0)
    return bare(5, 2, encoder=encoder, model=model, residual="linear", layers=layers, hidden=2, heads=2)


@pytest.mark.parametrize("every", [0, 2])
@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize("encoder, model", CASES)
def test_it_is_called_once_a_way_back_when_all_gradients_are_there(encoder, model, layers, every, reference):
    deep, graph, x = network(encoder, model, layers), reference.small_graph(), reference.normal(0, 7, 5).float()
    deep.recompute_every = every
    called, inputs = [], []
    deep.blocks[0].register_forward_pre_hook(lambda block, given: inputs.append(given[1]))
    parameters = list(deep.blocks.parameters())

    def look():
        called.append([p.grad.clone() for p in parameters])
        # Of the features themselves, which nothing comes before.
        assert encoder == "linear" or inputs[0].grad is not None

    when_back(deep, look)
    for step in range(3):
        with torch.no_grad():
            deep(graph, x)
        inputs.clear()
        deep.zero_grad()
        deep(graph, x).square().sum().backward()
        assert len(called) == step + 1
        assert all(torch.equal(seen, p.grad) for seen, p in zip(called[-1], parameters, strict=True))


def test_hooks_on_the_input_of_the_first_layer_come_before(reference):
    deep, order = network("none", "gat"), []

    def look(block, given):
        given[1].register_hook(lambda gradient: order.append("input"))

    when_back(deep, lambda: order.append("end"))
    deep.blocks[0].register_forward_pre_hook(look)
    for _ in range(2):
        deep(reference.small_graph(), reference.normal(0, 7, 5).float()).sum().backward()
    assert order == ["input", "end"] * 2


def test_a_way_back_whose_way_forth_was_before_is_seen_as_well(reference):
    deep, called = network("none", "gat"), []
    out = deep(reference.small_graph(), reference.normal(0, 7, 5).float())
    when_back(deep, lambda: called.append(all(p.grad is not None for p in deep.parameters())))
    out.sum().backward()
    assert called == [True]


@pytest.mark.parametrize("encoder", ["linear", "none"])
def test_going_back_passes_all_inputs_of_layers_and_leaves_nothing(encoder, reference):
    deep, graph, x = network(encoder, "gat"), reference.small_graph(), reference.normal(0, 7, 5).float()
    inputs, gradients, called = [], {}, []

    def look(layer, given):
        inputs.append(given)
        given.register_hook(lambda gradient: gradients.update({layer: gradient}))

    for layer, block in enumerate(deep.blocks):
        block.register_forward_pre_hook(lambda block, given, layer=layer: look(layer, given[1]))
    when_back(deep, lambda: called.append(None))
    go_back(deep, graph, x, lambda logits: logits.square().sum())
    assert called == [] and all(p.grad is None for p in deep.parameters())
    passed = dict(gradients)
    inputs.clear()
    expected = torch.autograd.grad(deep(graph, x).square().sum(), list(inputs))
    assert sorted(passed) == [0, 1, 2]
    for layer, gradient in enumerate(expected):
        torch.testing.assert_close(passed[layer], gradient)
    found = len(deep.encoder._forward_hooks)
    go_back(deep, graph, x, lambda logits: logits.sum())
    assert len(deep.encoder._forward_hooks) == found
