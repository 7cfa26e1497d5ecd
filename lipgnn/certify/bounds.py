"""Certified Lipschitz constants of a network and of its layers: how much they can stretch any change of their input.

All are of the Frobenius norm over all nodes and in evaluation mode, and hold in exact arithmetic for every input, not
only for the data at hand. That of an attention layer is by the theorem of LipschitzNorm (see `lipschitz_bound` of the
layers); that of a whole network, which bounded weights and residuals make useful, is our own combination.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import nn

from lipgnn.catalog import SUMS
from lipgnn.network.blocks import Block, Branch
from lipgnn.network.deep import DeepGNN
from lipgnn.network.reversible import ReversibleBlock
from lipgnn.nn import GATConv, GGNNConv, Mlp, TransformerConv
from lipgnn.norms import BatchNorm, FeatureNorm
from lipgnn.runtime import dgl

# The slope of GELU, Φ(x) + xφ(x), has the derivative (2 − x²) φ(x): it is largest at √2.
GELU_SLOPE = (1 + math.erf(1)) / 2 + math.exp(-1) / math.sqrt(math.pi)


@dataclass(frozen=True)
class Bound:
    """How much a part of a network can stretch a change of its input.

    Attributes
    ----------
    value : the constant; infinite where none is known.
    reason : why it is infinite.
    start : the same for a change of the encoder's output, which residual `initial` brings to every layer; else 0.
    """

    value: float
    reason: str | None = None
    start: float = 0.0


@dataclass(frozen=True)
class NetworkBound:
    """How much a network can stretch a change of its features into a change of its logits.

    Attributes
    ----------
    log10 : of the constant, which in deep networks is more than a number can hold; infinite where none is known.
    reason : why it is infinite.
    encoder, decoder : the constants of the two.
    """

    log10: float
    reason: str | None
    encoder: float
    decoder: float

    @property
    def value(self) -> float:
        """The constant itself, infinite where it cannot be written."""
        return 10**self.log10 if self.log10 < 308 else math.inf


def layer_bounds(network: DeepGNN, graph: dgl.DGLGraph) -> list[Bound]:
    """For every block, how much it can stretch a change of its input."""
    return [
        _reversible(block, graph) if isinstance(block, ReversibleBlock) else _plain(block, graph)
        for block in network.blocks
    ]


def network_bound(network: DeepGNN, layers: Sequence[Bound]) -> NetworkBound:
    """The bound of the whole from those of its blocks: ‖W_decoder‖₂ c_L ‖W_encoder‖₂ with

        c_0 = 1,   c_ℓ = value_ℓ · c_{ℓ−1} + start_ℓ

    where c_ℓ bounds what the first ℓ blocks make of a change of the encoder's output.
    """
    encoder, decoder = spectral_norm(network.encoder.weight), spectral_norm(network.decoder.weight)
    for number, bound in enumerate(layers, start=1):
        if bound.reason:
            return NetworkBound(math.inf, f"layer {number}: {bound.reason}", encoder, decoder)
    log10 = 0.0
    for bound in layers:
        log10 = _log10_of_sum(_log10(bound.value) + log10, _log10(bound.start))
    return NetworkBound(_log10(encoder) + log10 + _log10(decoder), None, encoder, decoder)


def spectral_norm(weight: torch.Tensor) -> float:
    """The largest singular value."""
    return torch.linalg.matrix_norm(weight.detach().double(), 2).item()


def _plain(block: Block, graph: dgl.DGLGraph | None) -> Bound:
    """A block of the plain stack; the graph is None for an MLP, which has none.

    none: ‖F‖;  identity, scaled: 1 + s‖F‖;  initial: (1 − α)‖F‖, and α‖V‖ through the start;  gated: none is known.
    A norm after the sum and the MLP, a block itself, are factors.
    """
    if block.gate is not None:
        return Bound(math.inf, "a gate multiplies what it weighs, which is not Lipschitz: use --residual identity")
    branch, start = _branch(block, graph), 0.0
    value = branch.value
    if block.residual in SUMS:
        value = 1 + block.scale * value
    elif block.residual == "initial":
        value = (1 - block.alpha) * value
        behind = 1.0 if block.norm_first else _norm(block.norm).value
        start = block.alpha * spectral_norm(block.conv.value_map.weight) * behind * _slope(block.activation)
    factors = [_norm(block.sum_norm), Bound(1.0) if block.mlp is None else _plain(block.mlp, None)]
    reasons = [part.reason for part in (branch, *factors) if part.reason]
    if reasons:
        return Bound(math.inf, reasons[0], math.inf if start else 0.0)
    factor = math.prod(part.value for part in factors)
    return Bound(value * factor, None, start * factor)


def _reversible(block: ReversibleBlock, graph: dgl.DGLGraph) -> Bound:
    """y₁ = x₁ + s f(x₂), y₂ = x₂ + s g(y₁), with a = s‖f‖ and b = s‖g‖:

        ( ‖Δy₁‖ )  ≤  ( 1    a    ) ( ‖Δx₁‖ )
        ( ‖Δy₂‖ )     ( b  1 + ab ) ( ‖Δx₂‖ )

    so the largest singular value of the matrix is a bound.
    """
    parts = [_branch(block.f, graph), _branch(block.g, graph)]
    reasons = [part.reason for part in parts if part.reason]
    if reasons:
        return Bound(math.inf, reasons[0])
    a, b = (block.scale * part.value for part in parts)
    return Bound(spectral_norm(torch.tensor([[1, a], [b, 1 + a * b]], dtype=torch.float64, device="cpu")))


def _branch(branch: Branch, graph: dgl.DGLGraph | None) -> Bound:
    """‖conv‖ · ‖norm‖ · largest slope of the activation; dropout is off."""
    parts = [_convolution(branch.conv, graph), _norm(branch.norm)]
    reasons = [part.reason for part in parts if part.reason]
    if reasons:
        return Bound(math.inf, reasons[0])
    return Bound(parts[0].value * parts[1].value * _slope(branch.activation))


def _convolution(conv: nn.Module, graph: dgl.DGLGraph | None) -> Bound:
    if isinstance(conv, Mlp):
        return Bound(spectral_norm(conv.second.weight) * _slope(conv.activation) * spectral_norm(conv.first.weight))
    if isinstance(conv, GGNNConv):
        return Bound(
            math.inf, "a gate multiplies what it weighs, which is not Lipschitz: use another --model than ggnn"
        )
    value = conv.lipschitz_bound(graph)
    if math.isfinite(value):
        return Bound(value)
    if isinstance(conv, GATConv | TransformerConv) and conv.norm is None:
        return Bound(math.inf, "plain attention is not Lipschitz: use --norm lip")
    return Bound(math.inf, "this variant of LipschitzNorm has no certified bound: use --norm lip")


def _norm(norm: FeatureNorm | None) -> Bound:
    """A feature norm as a factor; BatchNorm is a diagonal map in evaluation."""
    if norm is None:
        return Bound(1.0)
    if isinstance(norm, BatchNorm):
        own = norm.norm
        return Bound((own.weight.detach() * (own.running_var + own.eps).rsqrt()).abs().max().item())
    return Bound(
        math.inf,
        f"{type(norm).__name__} divides features by their own size, and small ones by almost nothing: "
        "use no feature norm, or batch",
    )


def _slope(activation: nn.Module) -> float:
    """The largest slope of an activation."""
    return GELU_SLOPE if isinstance(activation, nn.GELU) else 1.0


def _log10(value: float) -> float:
    return math.log10(value) if value > 0 else -math.inf


def _log10_of_sum(a: float, b: float) -> float:
    """log10(10^a + 10^b), whatever the size of the two."""
    larger, smaller = max(a, b), min(a, b)
    return larger if math.isinf(smaller) else larger + math.log10(1 + 10 ** (smaller - larger))
