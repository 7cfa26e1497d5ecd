"""Recording the gradients of every layer while a run trains, without changing anything in it."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from lipgnn.recorded import GRADIENTS, write_recording
from lipgnn.training import Training

if TYPE_CHECKING:
    import numpy as np


class GradientRecorder:
    """Three numbers of two gradients of every layer, epoch by epoch.

        norm = ‖G‖_F,   mean = Σ|G_ij| / size(G),   max = max |G_ij|

    for G = ∂ℓ/∂W, all weight matrices of the layer together (biases and vectors are no matrices), and for G = ∂ℓ/∂X
    with X (N, W) the input of the layer. Gradients are those of the training loss, before clipping. Where an epoch has
    several batches, every number is the largest over them.

    A reversible stack is a single operation, in which no layer has an input: what is recorded of inputs is NaN there.

    Parameters
    ----------
    training : its network and its optimizer are given hooks, which stay.
    earlier : arrays of the epochs before, for a run that is resumed; those of later epochs are dropped.
    """

    def __init__(self, training: Training, earlier: Mapping[str, np.ndarray] | None = None):
        blocks = training.network.blocks
        self._device = training.device
        self._layers = len(blocks)
        self._epochs: list[int] = []
        self._rows: list[torch.Tensor] = []
        if earlier:
            kept = earlier["epochs"] <= training.epoch
            self._epochs = earlier["epochs"][kept].tolist()
            arrays = [torch.from_numpy(earlier[name][kept]) for name in GRADIENTS]
            self._rows = list(torch.stack(arrays, dim=1).to(self._device))
        # What the hooks have seen of the batch in work, and the largest over the batches before it.
        self._weights: dict[tuple[int, int], torch.Tensor] = {}
        self._inputs: dict[int, torch.Tensor] = {}
        self._largest: torch.Tensor | None = None
        for layer, block in enumerate(blocks):
            block.register_forward_pre_hook(functools.partial(self._before_forward, layer))
            for place, matrix in enumerate(_matrices(block)):
                matrix.register_post_accumulate_grad_hook(functools.partial(self._after_matrix, layer, place))
        training.optimizer.register_step_pre_hook(self._after_batch)
        sizes = torch.tensor([matrix.numel() for matrix in _matrices(blocks[0])], device=self._device)
        self._shares = sizes / sizes.sum()

    def end_epoch(self, epoch: int) -> None:
        """Keep what was seen since the last call as that of `epoch`; nothing is waited for."""
        self._epochs.append(epoch)
        self._rows.append(self._largest.float())
        self._largest = None

    def save(self, path: Path) -> None:
        """Write all epochs, if there are any: the arrays of GRADIENTS, (E, L) each, and `epochs`, (E,)."""
        if self._rows:
            rows = torch.stack(self._rows).cpu()  # (E, 6, L)
            named = {name: rows[:, index].contiguous().numpy() for index, name in enumerate(GRADIENTS)}
            write_recording(path, {"epochs": torch.tensor(self._epochs, device="cpu").numpy(), **named})

    def _before_forward(self, layer: int, block: nn.Module, arguments: tuple[Any, ...]) -> None:
        # A layer computed again from a checkpoint comes here once more, but no gradient reaches that input.
        x = arguments[1]
        if block.training and torch.is_grad_enabled() and x.requires_grad:
            x.register_hook(functools.partial(self._after_input, layer))

    def _after_input(self, layer: int, gradient: torch.Tensor) -> None:
        self._inputs[layer] = _summary(gradient)

    def _after_matrix(self, layer: int, place: int, matrix: nn.Parameter) -> None:
        self._weights[layer, place] = _summary(matrix.grad)

    def _after_batch(self, *_: Any) -> None:
        unseen = torch.full((3,), torch.nan, dtype=torch.float64, device=self._device)
        layers, places = range(self._layers), range(len(self._shares))
        of_matrices = [self._weights.get((layer, place), unseen) for layer in layers for place in places]
        norms, means, largest = torch.stack(of_matrices).view(self._layers, -1, 3).unbind(dim=2)  # (L, matrices) each
        weights = [torch.linalg.vector_norm(norms, dim=1), means @ self._shares.double(), largest.amax(dim=1)]
        inputs = torch.stack([self._inputs.get(layer, unseen) for layer in layers], dim=1)  # (3, L)
        batch = torch.cat([torch.stack(weights), inputs])
        self._largest = batch if self._largest is None else torch.maximum(self._largest, batch)
        self._weights.clear()
        self._inputs.clear()


def _matrices(block: nn.Module) -> list[nn.Parameter]:
    return [parameter for parameter in block.parameters() if parameter.dim() == 2]


@torch.no_grad()
def _summary(gradient: torch.Tensor) -> torch.Tensor:
    """Norm, mean and largest absolute value, (3,)."""
    sizes = gradient.abs()
    # Squares of what is left of a gradient after many layers would vanish in single precision.
    norm = torch.linalg.vector_norm(gradient, dtype=torch.float64)
    return torch.stack([norm, sizes.mean().double(), sizes.max().double()])
