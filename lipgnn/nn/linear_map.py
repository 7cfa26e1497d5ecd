"""The linear maps of a layer: what weight norms bound and initializations draw, whatever the layer is made of."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn.utils import parametrize

from lipgnn.nn.balanced import mirror_
from lipgnn.norms import Scaled, SpectralBound
from lipgnn.runtime import one_thread
from lipgnn.spec.weight_norm import WeightNorm


@dataclass(frozen=True, eq=False)
class LinearMap:
    """One weight matrix of a layer.

    Attributes
    ----------
    module, name : where it is.
    heads : as many maps lie one below the other in it.
    bias_owner : the module whose `bias` is added to what the map gives, if not `module`.
    last : whether it is what the output of the layer ends with, so that the output is zero where all such maps are.
    """

    module: nn.Module
    name: str = "weight"
    heads: int = 1
    bias_owner: nn.Module | None = None
    last: bool = False

    @property
    def weight(self) -> torch.Tensor:
        """The matrix as it acts."""
        return getattr(self.module, self.name)

    @property
    def with_bias(self) -> nn.Module | None:
        """The module whose `bias` is added to what the map gives, if there is one."""
        owner = self.bias_owner or self.module
        return owner if getattr(owner, "bias", None) is not None else None

    def add(self, parametrization: nn.Module) -> None:
        """Let the matrix act through a parametrization, after those it has."""
        # Torch's own check would compute each once; all of ours keep shape and type.
        parametrize.register_parametrization(self.module, self.name, parametrization, unsafe=True)


def initialize(maps: Iterable[LinearMap], how: str, heads: int = 1) -> None:
    """Draw the weights of maps anew.

    Parameters
    ----------
    how : "glorot" leaves them as their layer has drawn them; "orthogonal" makes the rows or columns of every head
        orthonormal; "zero-last" starts every layer from an output of zero; "balanced" mirrors them (see mirror_); "pyg"
        draws them from Glorot's uniform distribution.
    heads : of the network, whose channels "balanced" pairs.
    """
    for linear in maps:
        if how == "orthogonal":
            for head in linear.weight.detach().unflatten(0, (linear.heads, -1)):
                nn.init.orthogonal_(head)
        elif how == "balanced":
            mirror_(linear.weight, rows=heads, columns=heads)
        elif how == "pyg":
            draw_uniform_(linear.weight)
        elif how == "zero-last" and linear.last:
            nn.init.zeros_(linear.weight)
            if linear.with_bias:
                nn.init.zeros_(linear.with_bias.bias)


@torch.no_grad()
def draw_uniform_(weight: torch.Tensor) -> None:
    """Draw from U(±√(6/(n + m))), n and m being the last two sizes: Glorot's, as PyTorch Geometric has it.

    An attention vector (1, H, D) is taken for a matrix of H rows, where torch's own function has another range.
    """
    weight.uniform_(-1, 1).mul_(math.sqrt(6 / sum(weight.shape[-2:])))


def bound_weights(maps: Iterable[LinearMap], norm: WeightNorm, layers: int) -> None:
    """Bound the largest singular value of every head of every map, in a network of so many layers.

    Biases, of which there is one in every layer as well, shrink in proportion: b̂ = b · min(1, c). Otherwise those of
    hundreds of layers, all pushed one way by a step of training, would drown the features. That is ours.
    """
    limit = norm.limit(layers)
    # Threads that wait for each other cost a hundred times what these small decompositions do.
    with one_thread():
        for linear in maps:
            linear.add(SpectralBound(linear.weight, limit=limit, fixed=norm.fixed, heads=linear.heads))
            if linear.with_bias:
                parametrize.register_parametrization(linear.with_bias, "bias", Scaled(min(1.0, limit)), unsafe=True)
