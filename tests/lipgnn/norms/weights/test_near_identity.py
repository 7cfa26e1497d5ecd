import torch

from lipgnn.norms import NearIdentity


def test_near_identity(reference):
    weight = reference.normal(0, 4, 4)
    expected = [[0.7 * (i == j) + 0.3 * weight[i, j] for j in range(4)] for i in range(4)]
    torch.testing.assert_close(NearIdentity(0.3)(weight), torch.tensor(expected).double())
