"""One layer of the deep stack: a branch of any kind of convolution, and what becomes of its input."""

from __future__ import annotations

import math

import torch
from torch import nn

from lipgnn.catalog import SUMS
from lipgnn.kernels import add_activated, rectified, rectifies
from lipgnn.network.hops import Hop, convolve, targets_of
from lipgnn.nn.contract import mixed_by
from lipgnn.nn.spread import Spread
from lipgnn.runtime import dgl


class Branch(nn.Module):
    """What a layer computes before anything is added to it: x ← σ(norm(conv(dropout(x)))).

    On a hop, whose targets are some of its nodes, the rows of all go in and those of the targets come out; norms over
    nodes are then over the targets.

    Parameters
    ----------
    kernel : that of the attention; a fused one comes with a fused end of the block.
    norm_first : σ(conv(dropout(norm(x)))) instead.
    """

    def __init__(
        self,
        dropout: nn.Module,
        conv: nn.Module,
        norm: nn.Module | None,
        activation: nn.Module,
        *,
        kernel: str,
        norm_first: bool = False,
    ):
        super().__init__()
        self.dropout = dropout
        self.conv = conv
        self.norm = norm
        self.activation = activation
        self.kernel = kernel
        self.norm_first = norm_first

    @property
    def parts(self) -> list[nn.Module]:
        """The layers and norms in it, which say what is true of them (see lipgnn.nn.contract)."""
        return [self.conv] if self.norm is None else [self.conv, self.norm]

    def forward(self, graph: dgl.DGLGraph | Hop, x: torch.Tensor) -> torch.Tensor:
        """(N, …, W) → (N, …, W), every … by itself but for BatchNorm, which is over all of them."""
        return self._ended(graph, self._convolved(graph, x))

    def linear(self, graph: dgl.DGLGraph | Hop | None, x: torch.Tensor) -> torch.Tensor:
        """What comes before the activation."""
        return self._normalized(graph, self._convolved(graph, x))

    def attention(self, graph: dgl.DGLGraph, x: torch.Tensor) -> torch.Tensor:
        """Attention weights, (E, H)."""
        return self.conv(graph, self._input(graph, x), get_attention=True)[1].squeeze(-1)

    def spread(self, graph: dgl.DGLGraph, x: torch.Tensor) -> Spread:
        """How evenly every node's attention is spread, (N, H)."""
        return self.conv.spread(graph, self._input(graph, x))

    def _input(self, graph: dgl.DGLGraph | Hop | None, x: torch.Tensor) -> torch.Tensor:
        return self.dropout(self.norm(graph, x) if self.norm is not None and self.norm_first else x)

    def _convolved(self, graph: dgl.DGLGraph | Hop | None, x: torch.Tensor) -> torch.Tensor:
        return convolve(self.conv, graph, self._input(graph, x))

    def _normalized(self, graph: dgl.DGLGraph | Hop | None, y: torch.Tensor) -> torch.Tensor:
        return y if self.norm is None or self.norm_first else self.norm(graph, y)

    def _ended(self, graph: dgl.DGLGraph | Hop | None, y: torch.Tensor) -> torch.Tensor:
        """σ(norm(y)), in one step where there is one."""
        if not self.norm_first and rectifies(self.norm, self.activation, y, self.kernel):
            return rectified(self.norm.norm, y)
        return add_activated(None, self.activation, self._normalized(graph, y), 1.0, self.kernel)


class Block(Branch):
    """One layer of the plain stack: the branch F(x) = σ(norm(conv(dropout(x)))) and its residual connection.

        none:      x ← F(x)
        identity:  x ← x + F(x)
        scaled:    x ← x + F(x) / √L
        linear:    x ← σ(norm( conv(dropout(x)) + W dropout(x) ))
        gated:     x ← β x + (1 − β) F(x), see Gate
        initial:   x ← σ(norm( (1 − α) conv(dropout(x)) + α V x⁰ ))

    With residual none or linear it may lead from features of one width to those of another.

    With the factor 1/√L the sum of L layers starts, and stays, of the size of one; it lets one learning rate
    serve all depths (Hayou et al., "Stable ResNet", AISTATS 2021).

    `linear` is that of Luo et al., "Classic GNNs are Strong Baselines", NeurIPS 2024.

    `initial` is the layer of GCNII, with x⁰ the output of the encoder and V the map of the convolution from features
    to what is added up, made NearIdentity; on a convolution P x V it is σ(((1 − α) P x + α x⁰) V) (Chen et al., "Simple
    and Deep Graph Convolutional Networks", ICML 2020, equation 5). That V may be that of several heads, and P their
    attention, is our extension.

    Parameters
    ----------
    parts, kernel, norm_first : of the branch.
    residual : none, identity, scaled, linear, gated or initial.
    scale : the factor of F(x) where x is added.
    sum_norm : a norm that acts after all that instead of within the branch, x ← norm(x + σ(conv(dropout(x)))).
    beside : the map W of residual linear.
    gate : that of residual gated.
    alpha : α of residual initial.
    mlp : a further block that follows, of an Mlp; it is given no graph.
    """

    def __init__(
        self,
        *parts: nn.Module | None,
        kernel: str,
        norm_first: bool = False,
        residual: str,
        scale: float = 1.0,
        sum_norm: nn.Module | None = None,
        beside: nn.Linear | None = None,
        gate: Gate | None = None,
        alpha: float = 0.0,
        mlp: Block | None = None,
    ):
        super().__init__(*parts, kernel=kernel, norm_first=norm_first)
        self.residual = residual
        self.scale = scale
        self.sum_norm = sum_norm
        self.beside = beside
        self.gate = gate
        self.alpha = alpha
        self.mlp = mlp

    @property
    def parts(self) -> list[nn.Module]:
        """The layers and norms in it, those of its MLP among them."""
        further = [] if self.sum_norm is None else [self.sum_norm]
        return [*super().parts, *further, *([] if self.mlp is None else self.mlp.parts)]

    def forward(
        self, graph: dgl.DGLGraph | Hop | None, x: torch.Tensor, start: torch.Tensor | None = None
    ) -> torch.Tensor:
        """(N, W) → (N, W); `start` is x⁰ (N, W) for residual initial."""
        if self.residual in SUMS:
            kept = targets_of(graph, x)
            x = add_activated(kept, self.activation, self.linear(graph, x), self.scale, self.kernel)
        elif self.residual == "initial":
            x = self._ended(graph, self._mixed(graph, x, start))
        elif self.residual == "linear":
            x = self._ended(graph, self._with_map(graph, x))
        elif self.gate is not None:
            x = self.gate(targets_of(graph, x), super().forward(graph, x))
        else:
            x = super().forward(graph, x)
        if self.sum_norm is not None:
            x = self.sum_norm(graph, x)
        return x if self.mlp is None else self.mlp(None, x)

    def _mixed(self, graph: dgl.DGLGraph | Hop, x: torch.Tensor, start: torch.Tensor) -> torch.Tensor:
        x, mixed = self._input(graph, x), mixed_by(self.conv)
        if mixed is not None:
            # Of a hop, what comes out for others than its targets is dropped, as in `convolve`.
            whole = graph.graph if isinstance(graph, Hop) else graph
            return targets_of(graph, mixed(whole, x, start, self.alpha))
        return torch.lerp(convolve(self.conv, graph, x), self.conv.values(targets_of(graph, start)), self.alpha)

    def _with_map(self, graph: dgl.DGLGraph | Hop, x: torch.Tensor) -> torch.Tensor:
        x = self._input(graph, x)
        return convolve(self.conv, graph, x) + self.beside(targets_of(graph, x))

    def extra_repr(self) -> str:
        return f"residual={self.residual!r}, scale={self.scale:.4g}, alpha={self.alpha:.4g}"


class Gate(nn.Module):
    """How much of its input a node keeps, by what it is and what it would become.

        β_i = sigmoid( w·[x_i ‖ y_i ‖ x_i − y_i] + b ),     x_i ← β_i x_i + (1 − β_i) y_i

    w starts at zero and b, which is ours, so that 1 − β = 1/L: however deep the network, about one layer's worth of
    the input is replaced on the way.

    Reference: Shi et al., "Masked Label Prediction", IJCAI 2021, equation 5.
    """

    def __init__(self, width: int, layers: int):
        super().__init__()
        self.linear = nn.Linear(3 * width, 1)
        nn.init.zeros_(self.linear.weight)
        nn.init.constant_(self.linear.bias, math.log(max(layers - 1, 1)))

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """(N, …, W), (N, …, W) → (N, …, W)."""
        return torch.lerp(y, x, torch.sigmoid(self.linear(torch.cat([x, y, x - y], dim=-1))))
