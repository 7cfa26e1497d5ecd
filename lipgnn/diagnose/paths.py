"""The output of a deep attention network as a sum over paths: which head, or none, was taken in every layer.

Without activations, a layer with H heads is X ← X K + Σ_h P_h X W_h + 1·bᵀ, where P_h has the attention weights of a
head, W_h its map into its columns, and K what passes the attention by: the identity of a residual connection, the
layer's own linear skip, or both. With the P_h of the whole network held, L layers are

    X^L = Σ_{h_1 … h_L} (P_{h_L} … P_{h_1}) X (W_{h_1} … W_{h_L}) + 1·cᵀ,     h_ℓ ∈ {0, 1 … H},  P_0 = I, W_0 = K,

and all biases make one row c, because the rows of every P_h sum to one. The length of a path is how many of its h_ℓ
are not 0. Every product with a P_h is one over the edges: no N×N matrix is ever made.

Reference: Dong, Cordonnier & Loukas, "Attention is Not All You Need: Pure Attention Loses Rank Doubly Exponentially
with Depth", ICML 2021; heads side by side, and K as part of a path, are ours.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import nn

from lipgnn.catalog import SUMS, models_with
from lipgnn.diagnose.path_choice import Path, choose_paths, count_paths
from lipgnn.errors import RunFailed, UsageError
from lipgnn.measures.features import length as frobenius
from lipgnn.measures.features import rank_one_residual
from lipgnn.measures.walk import components
from lipgnn.network.deep import DeepGNN
from lipgnn.nn.contract import own_skip, value_map_of
from lipgnn.runtime import dgl

LARGEST_ERROR = 1e-6
"""Of the sum over all paths in float64, relative to the output: beyond it the shares say nothing."""


@dataclass(frozen=True)
class Part:
    """One part T of the output Y = X^L.

    Attributes
    ----------
    share : ⟨T, Y⟩ / ‖Y‖_F², so that the shares of all parts sum to one; negative where T is opposed to the output.
    size : ‖T‖_F / ‖Y‖_F.
    residual : of T to rank one (see `measures.rank_one_residual`); not a number where T is zero.
    """

    share: float
    size: float
    residual: float


@dataclass(frozen=True)
class PathShares:
    """The output, divided by the length of paths.

    Attributes
    ----------
    lengths : for every length that occurs the sum of all its paths.
    counts : how many paths each length has.
    bias : the part of all biases.
    error : of the sum of all parts, relative to the output.
    """

    lengths: dict[int, Part]
    counts: dict[int, int]
    bias: Part
    error: float


@torch.no_grad()
def path_shares(network: DeepGNN, graph: dgl.DGLGraph, x: torch.Tensor) -> PathShares:
    """The output of the last layer by length of paths, exact for any depth and any number of heads.

    Paths are not walked one by one: those that have taken the same number of heads so far are continued as their sum,
    which costs L² products with the attention instead of (H + 1)^L, and as much memory as L + 1 outputs.

    Parameters
    ----------
    network : in evaluation mode or not, it is decomposed without dropout, in float64.
    x : features (N, F), the input of the encoder.

    Raises
    ------
    UsageError : the network is not such a stack.
    RunFailed : the parts do not sum to the output, because values overflow or vanish.
    """
    depth, heads, skips = _shape(network)
    start, layers = _frozen(network, graph, x)
    sums, constant, output = {0: start}, torch.zeros_like(start[:1]), start
    for layer in layers:
        sums = _continued(layer, sums, skips=skips)
        constant = layer.constant(constant)
        output = layer.output
    whole = sum(sums.values()) + constant
    error = (frobenius(whole - output) / frobenius(output)).item()
    # Written so that what is not a number fails.
    if not error <= LARGEST_ERROR:
        raise RunFailed(
            f"The paths sum to the output with a relative error of {error:.1e}: its values overflow, vanish or cancel.",
            "Decompose a network of fewer layers, or one with --weight-norm.",
        )
    measure = _measure_beside(graph, output)
    lengths = {length: measure(part) for length, part in sorted(sums.items())}
    counts = {length: count_paths(depth, heads, length, skips=skips) for length in lengths}
    return PathShares(lengths, counts, measure(constant.expand_as(output)), error)


@torch.no_grad()
def single_paths(
    network: DeepGNN,
    graph: dgl.DGLGraph,
    x: torch.Tensor,
    *,
    count: int,
    length: int | None = None,
    seed: int = 0,
) -> dict[Path, Part]:
    """Some paths on their own, as `choose_paths` gives them; network and x as for `path_shares`."""
    chosen = choose_paths(*_shape(network), count=count, length=length, seed=seed)
    start, layers = _frozen(network, graph, x)
    terms, output = {path: start for path in chosen}, start
    for position, layer in enumerate(layers):
        terms = {path: layer.step(term, path[position]) for path, term in terms.items()}
        output = layer.output
    measure = _measure_beside(graph, output)
    return {path: measure(term) for path, term in terms.items()}


@dataclass(frozen=True, eq=False)
class _Layer:
    """One layer with its attention held, so that all it does is linear.

    Attributes
    ----------
    attention : (E, H, 1).
    residual : whether the input is added.
    scale : the factor of all else.
    output : (N, W), of the layer in its network.
    """

    graph: dgl.DGLGraph
    conv: nn.Module
    attention: torch.Tensor
    residual: bool
    scale: float
    output: torch.Tensor

    def step(self, x: torch.Tensor, head: int) -> torch.Tensor:
        """P_h x W_h, (N, W) → (N, W), in the columns of that head; x K for head 0."""
        if head == 0:
            return self.passed(x)
        heads = slice(head - 1, head)
        out = self._nothing(x).unflatten(1, (self.conv.num_heads, -1))  # (N, H, D)
        out[:, heads] = self._summed(x, heads)
        return out.flatten(1)

    def attended(self, x: torch.Tensor) -> torch.Tensor:
        """Σ_h P_h x W_h, (N, W) → (N, W)."""
        return self._summed(x, slice(None)).flatten(1)

    def _summed(self, x: torch.Tensor, heads: slice) -> torch.Tensor:
        values = self.conv.values(x).unflatten(1, (self.conv.num_heads, -1))[:, heads].contiguous()
        return self.scale * dgl.ops.u_mul_e_sum(self.graph, values, self.attention[:, heads].contiguous())

    def passed(self, x: torch.Tensor) -> torch.Tensor:
        """x K, (N, W) → (N, W)."""
        kept, skip = x if self.residual else self._nothing(x), own_skip(self.conv)
        return kept if skip is None else kept + self.scale * nn.functional.linear(x, skip.weight)

    def _nothing(self, x: torch.Tensor) -> torch.Tensor:
        """(N, F) → zeros (N, W)."""
        return x.new_zeros(len(x), self.output.shape[1])

    def constant(self, row: torch.Tensor) -> torch.Tensor:
        """What the layer makes of a matrix whose rows are all this one, (1, W) → (1, W), with its biases."""
        owners = (self.conv.value_map.with_bias, own_skip(self.conv))
        biases = [owner.bias for owner in owners if owner is not None and owner.bias is not None]
        return self.passed(row) + self.scale * (self.conv.values(row) + sum(biases))


def _frozen(network: DeepGNN, graph: dgl.DGLGraph, x: torch.Tensor) -> tuple[torch.Tensor, Iterator[_Layer]]:
    """The input of the first layer, and the layers in float64, the attention of one at a time."""
    network = copy.deepcopy(network).double().eval()
    start = network.encode(x.double() if x.is_floating_point() else x)

    def layers() -> Iterator[_Layer]:
        x = start
        for block in network.blocks:
            attention = block.attention(graph, x).unsqueeze(-1)
            x = block(graph, x)
            yield _Layer(graph, block.conv, attention, block.residual in SUMS, block.scale, x)

    return start, layers()


def _continued(layer: _Layer, sums: dict[int, torch.Tensor], *, skips: bool) -> dict[int, torch.Tensor]:
    """The sums of paths by length, one layer on."""
    longer = {length + 1: layer.attended(part) for length, part in sums.items()}
    if skips:
        for length, part in sums.items():
            longer[length] = longer.get(length, 0) + layer.passed(part)
    return longer


def _shape(network: DeepGNN) -> tuple[int, int, bool]:
    """Layers, heads, and whether anything passes the attention by, of a network that has paths."""
    _check(network)
    block = network.blocks[0]
    skips = block.residual in SUMS or own_skip(block.conv) is not None
    return len(network.blocks), block.conv.num_heads, skips


def _measure_beside(graph: dgl.DGLGraph, output: torch.Tensor) -> Callable[[torch.Tensor], Part]:
    """A function from a part of this output to its numbers."""
    labels, size = components(graph), frobenius(output)

    def measure(part: torch.Tensor) -> Part:
        share = (part / size * (output / size)).sum()
        return Part(share.item(), (frobenius(part) / size).item(), rank_one_residual(part, labels).item())

    return measure


def _check(network: DeepGNN) -> None:
    """Refuse what is not linear once its attention is held, with the option that makes it so."""
    if not network.has_attention:
        raise UsageError(
            "Layers without attention have no paths.", f"Use --model {' or '.join(models_with('attention'))}."
        )
    if network.reversible:
        raise UsageError("The paths of a reversible stack are not known.", "Use --stack plain.")
    block = network.blocks[0]
    if value_map_of(block.conv) is None:
        raise UsageError(f"{type(block.conv).__name__} does not name the map of its values, which paths go through.")
    obstacles = (
        (not isinstance(block.activation, nn.Identity), "activations", "--activation none"),
        (block.norm is not None or block.sum_norm is not None, "feature norms", "--norm none or --norm lip"),
        (block.mlp is not None, "MLPs", "--mlp none"),
        (block.gate is not None, "gates", "--residual identity"),
        (block.residual == "linear", "maps beside the layers", "--residual identity"),
        (network.jk != "none", "all layers joined for the decoder", "--jk none"),
        (block.residual == "initial", "the first features in every layer", "--residual identity"),
    )
    for met, what, use in obstacles:
        if met:
            raise UsageError(f"A network with {what} is no sum over paths.", f"Train it with {use}.")
