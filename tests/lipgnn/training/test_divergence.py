import pytest
import torch
from networks import bare

from lipgnn.runtime import dgl
from lipgnn.training.divergence import first_nonfinite_gradient, first_nonfinite_output


@pytest.fixture
def network():
    return bare(3, 2, layers=4, hidden=2, heads=2, residual="identity").eval()


@pytest.fixture
def graph():
    return dgl.graph(([0, 1, 2, 0, 1, 2], [1, 2, 0, 0, 1, 2]))


X = torch.ones(3, 3)


def test_a_sound_network_has_no_offender(network, graph):
    network(graph, X).sum().backward()
    assert first_nonfinite_output(network, graph, X) is None
    assert first_nonfinite_gradient(network) is None


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_the_first_bad_output_is_named_not_those_it_spoils(network, graph, bad):
    with torch.no_grad():
        network.blocks[2].conv.bias[0] = bad
    assert first_nonfinite_output(network, graph, X) == "layer 3"
    with torch.no_grad():
        network.encoder.bias[0] = bad
    assert first_nonfinite_output(network, graph, X) == "encoder"


def test_no_hook_stays_behind(network, graph):
    first_nonfinite_output(network, graph, X)
    assert not any(module._forward_hooks for module in network.modules())


def test_the_first_bad_gradient_on_the_way_back_is_named(network, graph):
    network(graph, X).sum().backward()
    network.blocks[0].conv.bias.grad[0] = float("nan")
    assert first_nonfinite_gradient(network) == "layer 1"
    network.blocks[2].conv.attn_l.grad[0] = float("inf")
    assert first_nonfinite_gradient(network) == "layer 3"
