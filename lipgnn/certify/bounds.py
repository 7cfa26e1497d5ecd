"""Certified Lipschitz constants of a network and of its layers: how much they can stretch any change of their input.

All are of the Frobenius norm over all nodes and in evaluation mode, and hold in exact arithmetic for every input, not
only for the data at hand. That of an attention layer is by the theorem of LipschitzNorm (see `certified` of the
layers); that of a whole network, which bounded weights and residuals make useful, is our own combination.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from lipgnn.catalog import SUMS
from lipgnn.network.blocks import Block, Branch
from lipgnn.network.deep import DeepGNN
from lipgnn.network.reversible import ReversibleBlock
from lipgnn.nn.activations import largest_slope
from lipgnn.nn.contract import certified
from lipgnn.norms.bound import Bound, product
from lipgnn.norms.lengths import spectral_norm
from lipgnn.runtime import dgl


@dataclass(frozen=True)
class BlockBound(Bound):
    """How much a block can stretch a change of its input.

    Attributes
    ----------
    start : the same for a change of the encoder's output, which residual `initial` brings to every layer; else 0.
    """

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


def layer_bounds(network: DeepGNN, graph: dgl.DGLGraph) -> list[BlockBound]:
    """For every block, how much it can stretch a change of its input."""
    return [
        _reversible(block, graph) if isinstance(block, ReversibleBlock) else _plain(block, graph)
        for block in network.blocks
    ]


def network_bound(network: DeepGNN, layers: Sequence[BlockBound]) -> NetworkBound:
    """The bound of the whole from those of its blocks: ‖W_decoder‖₂ c s ‖W_encoder‖₂ with

        c_0 = 1,   c_ℓ = value_ℓ · c_{ℓ−1} + start_ℓ

    where c_ℓ bounds what the first ℓ blocks make of a change of the encoder's output, and s is the largest slope of the
    activation behind the encoder; without an encoder 1 is in the place of ‖W_encoder‖₂. The decoder is given the last
    output, so c = c_L; or, by `jk`, the sum of all, and c = Σ c_ℓ; or all side by side, or the largest of all, neither
    of which changes by more than the root of the sum of the squares of the changes: c² = Σ c_ℓ².
    """
    slope = largest_slope(network.encoder_activation)
    encoder = slope.value * (1.0 if network.bare else spectral_norm(network.encoder.weight))
    decoder = spectral_norm(network.decoder.weight)
    for number, bound in enumerate(layers, start=1):
        if bound.reason:
            return NetworkBound(math.inf, f"layer {number}: {bound.reason}", encoder, decoder)
    log10s = [0.0]
    for bound in layers:
        log10s.append(_log10_of_sum(_log10(bound.value) + log10s[-1], _log10(bound.start)))
    log10 = _joined(log10s[1:], network.jk)
    return NetworkBound(_log10(encoder) + log10 + _log10(decoder), None, encoder, decoder)


def _joined(log10s: Sequence[float], jk: str) -> float:
    """log10 of the bound of what the decoder is given, from those of the outputs of all layers."""
    if jk == "none":
        return log10s[-1]
    power = 1 if jk == "sum" else 2
    return functools.reduce(_log10_of_sum, [power * log10 for log10 in log10s]) / power


def _plain(block: Block, graph: dgl.DGLGraph | None) -> BlockBound:
    """A block of the plain stack; the graph is None for an MLP, which has none.

    none: ‖F‖;  identity, scaled: 1 + s‖F‖;  linear: ‖F‖ with ‖conv‖ + ‖W‖ in place of ‖conv‖;  initial: (1 − α)‖F‖,
    and α‖V‖ through the start;  gated: none is known. A norm after the sum and the MLP, a block itself, are factors.
    """
    if block.gate is not None:
        return BlockBound.unknown("a gate multiplies what it weighs, which is not Lipschitz: use --residual identity")
    branch = _branch(block, graph, 0.0 if block.beside is None else spectral_norm(block.beside.weight))
    behind = [certified(block.sum_norm, graph), Bound(1.0) if block.mlp is None else _plain(block.mlp, None)]
    value, start = branch.value, 0.0
    if block.residual in SUMS:
        value = 1 + block.scale * value
    elif block.residual == "initial":
        value = (1 - block.alpha) * value
        first = Bound(block.alpha * spectral_norm(block.conv.value_map.weight))
        norm = certified(None if block.norm_first else block.norm, graph)
        start = product([first, norm, largest_slope(block.activation), *behind]).value
    whole = product([Bound(value, branch.reason), *behind])
    return BlockBound(whole.value, whole.reason, start)


def _reversible(block: ReversibleBlock, graph: dgl.DGLGraph) -> BlockBound:
    """y₁ = x₁ + s f(x₂), y₂ = x₂ + s g(y₁), with a = s‖f‖ and b = s‖g‖:

        ( ‖Δy₁‖ )  ≤  ( 1    a    ) ( ‖Δx₁‖ )
        ( ‖Δy₂‖ )     ( b  1 + ab ) ( ‖Δx₂‖ )

    so the largest singular value of the matrix is a bound.
    """
    parts = [_branch(block.f, graph), _branch(block.g, graph)]
    if reason := product(parts).reason:
        return BlockBound.unknown(reason)
    a, b = (block.scale * part.value for part in parts)
    return BlockBound(spectral_norm(torch.tensor([[1, a], [b, 1 + a * b]], dtype=torch.float64, device="cpu")))


def _branch(branch: Branch, graph: dgl.DGLGraph | None, beside: float = 0.0) -> Bound:
    """(‖conv‖ + that of a map beside it) · ‖norm‖ · largest slope of the activation; dropout is off."""
    conv = certified(branch.conv, graph)
    linear = Bound(conv.value + beside, conv.reason)
    return product([linear, certified(branch.norm, graph), largest_slope(branch.activation)])


def _log10(value: float) -> float:
    return math.log10(value) if value > 0 else -math.inf


def _log10_of_sum(a: float, b: float) -> float:
    """log10(10^a + 10^b), whatever the size of the two."""
    larger, smaller = max(a, b), min(a, b)
    return larger if math.isinf(smaller) else larger + math.log10(1 + 10 ** (smaller - larger))
