import numpy as np
import torch
from torch import nn

from lipgnn.nn import Mlp


def test_the_formula_node_by_node(reference):
    mlp = reference.redraw(Mlp(3, 5, nn.ReLU()), seed=1)
    x = reference.normal(0, 4, 3)
    w1, b1, w2, b2 = (p.detach().numpy() for p in mlp.parameters())
    expected = [w2 @ (w1 @ row + b1).clip(min=0) + b2 for row in x.numpy()]
    torch.testing.assert_close(mlp(None, x), torch.tensor(np.stack(expected)))


def test_the_output_may_be_of_another_width_and_without_biases(reference):
    mlp = reference.redraw(Mlp(3, 5, nn.ReLU(), bias=False, out_width=2), seed=1)
    x = reference.normal(0, 4, 3)
    w1, w2 = (p.detach().numpy() for p in mlp.parameters())
    expected = [w2 @ (w1 @ row).clip(min=0) for row in x.numpy()]
    torch.testing.assert_close(mlp(None, x), torch.tensor(np.stack(expected)))
