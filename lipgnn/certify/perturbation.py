"""A trained network as a function of what is added to its features."""

from __future__ import annotations

import copy
import math

import torch

from lipgnn.network.deep import DeepGNN
from lipgnn.runtime import dgl


def exact_copy(network: DeepGNN) -> DeepGNN:
    """The network in evaluation mode and float64, with parameters that ask for no gradients."""
    return copy.deepcopy(network).double().eval().requires_grad_(False)


class PerturbedNetwork:
    """The logits (N, C) by coordinates b (N, R) of a perturbation of the features.

    What the encoder W = U S Vᵀ maps to zero cannot matter. A perturbation Δ of all features, (N, F), acts as the
    coordinates b = ΔV, no longer than Δ; and every b is that of Δ = bVᵀ, exactly as long. So R ≤ min(F, width) numbers
    a node stand for all F, and features stay sparse. Without an encoder the coordinates are Δ itself, and features are
    dense.

    Parameters
    ----------
    network : of which a copy is taken (see `exact_copy`).
    features : (N, F), sparse or dense.
    """

    def __init__(self, network: DeepGNN, graph: dgl.DGLGraph, features: torch.Tensor):
        self.network = exact_copy(network)
        self.graph = graph
        # Its own flag alone, not that of its parts: that is how it keeps few activations, and nothing is dropped.
        self.network.training = True
        self.network.recompute_every = 0 if self.network.reversible else math.isqrt(len(self.network.blocks))
        self._start = self.network.encoder(features.double()).detach()  # (N, W), or (N, F)
        self._directions: torch.Tensor | None = None
        if not network.bare:
            left, sizes, _ = torch.linalg.svd(self.network.encoder.weight, full_matrices=False)
            self._directions = (left * sizes).t()  # (R, W)

    @property
    def origin(self) -> torch.Tensor:
        """The coordinates of no perturbation, (N, R)."""
        moved = self._start.T if self._directions is None else self._directions
        return self._start.new_zeros(len(self._start), len(moved))

    def __call__(self, b: torch.Tensor) -> torch.Tensor:
        network = self.network
        x = network.encoder_activation(self._start + (b if self._directions is None else b @ self._directions))
        return network.decoder(network.body(self.graph, x))
