"""The linear maps of a layer: what weight norms bound and initializations draw, whatever the layer is made of."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn.utils import parametrize

from lipgnn.catalog import WeightNorm
from lipgnn.norms import SpectralBound
from lipgnn.runtime import one_thread


@dataclass(frozen=True, eq=False)
class LinearMap:
    """One weight matrix of a layer.

    Attributes
    ----------
    module, name : where it is.
    heads : as many maps lie one below the other in it.
    last : whether it is what the output of the layer ends with, so that the output is zero where all such maps are.
    """

    module: nn.Module
    name: str = "weight"
    heads: int = 1
    last: bool = False

    @property
    def weight(self) -> torch.Tensor:
        """The matrix as it acts."""
        return getattr(self.module, self.name)

    def add(self, parametrization: nn.Module) -> None:
        """Let the matrix act through a parametrization, after those it has."""
        # Torch's own check would compute each once; all of ours keep shape and type.
        parametrize.register_parametrization(self.module, self.name, parametrization, unsafe=True)


def initialize(maps: Iterable[LinearMap], how: str) -> None:
    """Draw the weights of maps anew.

    Parameters
    ----------
    how : "glorot" leaves them as their layer has drawn them; "orthogonal" makes the rows or columns of every head
        orthonormal; "zero-last" starts every layer from an output of zero.
    """
    for linear in maps:
        if how == "orthogonal":
            for head in linear.weight.detach().unflatten(0, (linear.heads, -1)):
                nn.init.orthogonal_(head)
        elif how == "zero-last" and linear.last:
            nn.init.zeros_(linear.weight)
            if getattr(linear.module, "bias", None) is not None:
                nn.init.zeros_(linear.module.bias)


def bound_weights(maps: Iterable[LinearMap], norm: WeightNorm, layers: int) -> None:
    """Bound the largest singular value of every head of every map, in a network of so many layers."""
    limit = norm.limit(layers)
    # Threads that wait for each other cost a hundred times what these small decompositions do.
    with one_thread():
        for linear in maps:
            linear.add(SpectralBound(linear.weight, limit=limit, fixed=norm.fixed, heads=linear.heads))
