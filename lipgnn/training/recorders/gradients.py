"""Recording the gradients of every layer while a run trains."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from lipgnn.kernels.summary import summarize
from lipgnn.training.recorders.recorder import Recorder
from lipgnn.training.recorders.way_back import when_back
from lipgnn.training.state import Training

if TYPE_CHECKING:
    import numpy as np


class GradientRecorder(Recorder):
    """Three numbers of two gradients of every layer, epoch by epoch.

        norm = ‖G‖_F,   mean = Σ|G_ij| / size(G),   max = max |G_ij|

    for G = ∂ℓ/∂W, all weight matrices of the layer together (biases and vectors are no matrices), and for G = ∂ℓ/∂X
    with X (N, W) the input of the layer. Gradients are those of the training loss, before clipping.

    A reversible stack is a single operation, in which no layer has an input: what is recorded of inputs is NaN there.
    """

    record = "gradients"

    def __init__(self, training: Training, earlier: Mapping[str, np.ndarray] | None = None):
        super().__init__(training, earlier)
        blocks = training.network.blocks
        self._matrices = [[p for p in block.parameters() if p.dim() == 2] for block in blocks]
        # What was seen of inputs in the batch in work.
        self._inputs: dict[int, torch.Tensor] = {}
        for layer, block in enumerate(blocks):
            block.register_forward_pre_hook(functools.partial(self._before_forward, layer))
        when_back(training.network, self._after_backward)

    def _before_forward(self, layer: int, block: nn.Module, arguments: tuple[Any, ...]) -> None:
        # A layer computed again from a checkpoint comes here once more, but no gradient reaches that input.
        x = arguments[1]
        if block.training and torch.is_grad_enabled() and x.requires_grad:
            x.register_hook(functools.partial(self._after_input, layer))

    def _after_input(self, layer: int, gradient: torch.Tensor) -> None:
        self._inputs[layer] = summarize(gradient)

    def _after_backward(self) -> None:
        weights = [summarize(torch.cat([matrix.grad.flatten() for matrix in layer])) for layer in self._matrices]
        inputs = [self._inputs.get(layer, self._unseen(3)) for layer in range(len(weights))]
        self._end_batch(torch.cat([torch.stack(weights, dim=1), torch.stack(inputs, dim=1)]))  # (6, L)
        self._inputs.clear()
