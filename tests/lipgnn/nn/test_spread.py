import math

import pytest
import torch

from lipgnn.nn.spread import spread_of


def test_spread_is_the_entropy_of_every_node_and_its_largest_weight(reference):
    graph = reference.build([(0, 0), (1, 0), (2, 0), (0, 1), (2, 1)], nodes=3)
    weights = torch.tensor([[0.2, 1.0], [0.3, 0.0], [0.5, 0.0], [0.25, 0.5], [0.75, 0.5]])
    entropy, largest = spread_of(graph, weights)
    for node, edges in ((0, [0, 1, 2]), (1, [3, 4])):
        for head in (0, 1):
            own = [weights[edge, head].item() for edge in edges]
            assert entropy[node, head].item() == pytest.approx(-sum(p * math.log(p) for p in own if p))
            assert largest[node, head].item() == pytest.approx(max(own))
    assert entropy[2].tolist() == [0, 0]
