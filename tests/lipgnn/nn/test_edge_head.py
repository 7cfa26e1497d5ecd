import pytest
import torch

from lipgnn.nn.edge_head import EdgeHead


@pytest.mark.parametrize("width, edge_width", [(3, 0), (3, 2), (0, 2)])
def test_it_is_a_perceptron_on_what_is_known_of_both_ends_and_the_edge(width, edge_width):
    head = EdgeHead(width, edge_width).double()
    torch.nn.init.normal_(head.receiver.bias)
    h, features = torch.randn(5, width).double(), torch.randn(7, edge_width).double()
    sources, targets = torch.randint(5, (2, 7))
    maps = [head.sender.weight, head.receiver.weight] + ([head.edge.weight] if edge_width else [])
    joined = torch.cat([h[sources], h[targets], features], 1)
    inner = torch.sigmoid(joined @ torch.cat(maps, 1).T + head.receiver.bias)
    assert inner.shape[1] == 2 * joined.shape[1]
    expected = inner @ head.out.weight[0] + head.out.bias
    torch.testing.assert_close(head(h, sources, targets, features), expected)
