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
