"""What both kinds of GAT share: a LeakyReLU in the scores, and the residual and the activation of DGL's layers."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

from lipgnn.nn.activations import largest_slope
from lipgnn.nn.attention import AttentionConv
from lipgnn.nn.linear_map import LinearMap
from lipgnn.norms import Bound
from lipgnn.norms.bound import product
from lipgnn.norms.lengths import spectral_norm
from lipgnn.runtime import dgl


class ResidualAttentionConv(AttentionConv):
    """Attention with an end: y_i = σ( Σ_j α_ij v_j + r(x_i) ), r(x) being nothing, x, or W_res x where widths differ.

    A kind makes its own maps and then calls `_make_end` in its constructor, and names all that it draws.
    """

    def _make_end(
        self,
        target_feats: int,
        *,
        negative_slope: float,
        residual: bool,
        activation: Callable[[torch.Tensor], torch.Tensor] | None,
        bias: bool,
    ) -> None:
        """The LeakyReLU of the scores, the activation of the output, and the map of a residual with its bias."""
        width = self.num_heads * self.out_feats
        self.leaky_relu = nn.LeakyReLU(negative_slope)
        self.activation = activation
        if residual and target_feats != width:
            self.res_fc = nn.Linear(target_feats, width, bias=bias)
        else:
            self.res_fc = nn.Identity() if residual else None

    def reset_parameters(self) -> None:
        """Draw new weights: Glorot normal with the gain of ReLU, as DGL does; biases zero."""
        gain = nn.init.calculate_gain("relu")
        for part in self._drawn:
            if isinstance(part, nn.Parameter):
                nn.init.xavier_normal_(part, gain=gain)
            elif isinstance(part, nn.Linear):
                nn.init.xavier_normal_(part.weight, gain=gain)
                if part.bias is not None:
                    nn.init.zeros_(part.bias)

    def certified(self, graph: dgl.DGLGraph) -> Bound:
        """That of the attention and its residual, times the largest slope of the activation.

        None for a LeakyReLU steeper than 1, for which no theorem holds.
        """
        slope = self.leaky_relu.negative_slope
        if abs(slope) > 1:
            return Bound.unknown(f"no bound is known for negative_slope {slope}: use one between -1 and 1")
        return product([super().certified(graph), largest_slope(self.activation)])

    @property
    def _drawn(self) -> list[nn.Parameter | nn.Module | None]:
        """Weights and maps in the order in which they are drawn, the residual's last."""
        raise NotImplementedError

    @property
    def _residual_maps(self) -> list[LinearMap]:
        return [LinearMap(self.res_fc, last=True)] if isinstance(self.res_fc, nn.Linear) else []

    def _with_passed(self, out: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        if self.res_fc is not None:
            out = out + self._heads(self.res_fc(target))
        return out if self.activation is None else self.activation(out)

    @property
    def _fits_kernels(self) -> bool:
        return super()._fits_kernels and self.leaky_relu.negative_slope >= 0

    @property
    def _passed_bound(self) -> float:
        if isinstance(self.res_fc, nn.Linear):
            return spectral_norm(self.res_fc.weight)
        return 0.0 if self.res_fc is None else 1.0
