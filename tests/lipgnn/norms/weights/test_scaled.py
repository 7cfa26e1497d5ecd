import torch

from lipgnn.norms import Scaled


def test_it_multiplies(reference):
    bias = reference.normal(0, 4)
    torch.testing.assert_close(Scaled(0.25)(bias), bias / 4, rtol=0, atol=0)
