"""The first map of a network, of features that are mostly zero."""

from __future__ import annotations

import torch
from torch import nn

from lipgnn.kernels import fused, implementation
from lipgnn.kernels.native import FLOATS
from lipgnn.kernels.sparse import sparse_linear
from lipgnn.nn.dropout import FeatureDropout


class FeatureLinear(nn.Linear):
    """A linear map that takes sparse features as they are; bags of words are 99 % zeros.

    Dropout acts on the stored values of a sparse matrix, which is dropout on all of its entries.

    Parameters
    ----------
    kernel : that of the attention; with the fused one comes a fused product.
    bias : whether a constant is added.
    """

    def __init__(self, in_feats: int, out_feats: int, dropout: float, kernel: str = "auto", *, bias: bool = True):
        super().__init__(in_feats, out_feats, bias=bias)
        self.dropout = FeatureDropout(dropout, kernel)
        self.kernel = kernel

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(N, F), sparse COO or dense → (N, out)."""
        if not x.is_sparse:
            return super().forward(self.dropout(x))
        values = self.dropout(x.values())
        bias = self.weight.new_zeros(len(self.weight)) if self.bias is None else self.bias
        if values.dtype == self.weight.dtype in FLOATS and implementation(self.kernel, x.device) is fused:
            return sparse_linear(x, values, self.weight, bias)
        x = torch.sparse_coo_tensor(
            x.indices(), values, x.shape, device=x.device, is_coalesced=True, check_invariants=False
        )
        # In one piece, because torch's product takes five times as long with a transposed view.
        return torch.sparse.mm(x, self.weight.t().contiguous()) + bias
