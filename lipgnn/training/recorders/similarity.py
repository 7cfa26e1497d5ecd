"""Recording how similar the rows of features and gradients are at every layer, while a run trains."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from lipgnn.measures.features import rows_of
from lipgnn.measures.walk import components
from lipgnn.network.deep import DeepGNN
from lipgnn.network.recompute import Randomness, buffers_kept
from lipgnn.training.recorders.recorder import Recorder
from lipgnn.training.recorders.way_back import go_back, when_back
from lipgnn.training.state import Training

if TYPE_CHECKING:
    import numpy as np


class SimilarityRecorder(Recorder):
    """Of X⁽⁰⁾ … X⁽ᴸ⁾, the inputs of all layers and the output of the last, and of G⁽ˡ⁾ = ∂ℓ/∂X⁽ˡ⁾, epoch by epoch:

        grad_mu = μ(G),   grad_norm = ‖G‖_F,   feat_mu = μ(X),   feat_norm = ‖X‖_F,   rank1 = ‖res(X)‖ / ‖X‖

    with the norm and the residual of `rank_one_residual`. An epoch has those of its training step, so of the weights
    before it and with dropout. Epoch 0 is before the first step, without dropout.

    A reversible stack is a single operation, in which no layer has an input: there is nothing of it but its output.
    Where the rows are not those of one graph in every step, rank1 is NaN.

    Reference: Park & Kim 2024 (arXiv 2410.04824) for μ of gradients.
    """

    record = "similarity"

    def __init__(self, training: Training, earlier: Mapping[str, np.ndarray] | None = None):
        super().__init__(training, earlier)
        network = training.network
        self._columns = len(network.blocks) + 1
        self._components = components(training.batches.whole().graph) if training.batches.shares_forward else None
        # What was seen in the batch in work, by column.
        self._gradients: dict[int, torch.Tensor] = {}
        self._features: dict[int, torch.Tensor] = {}
        for column, block in enumerate(network.blocks):
            block.register_forward_pre_hook(functools.partial(self._before_forward, column, 1))
        network.dropout.register_forward_pre_hook(functools.partial(self._before_forward, self._columns - 1, 0))
        if training.epoch == 0 and not self._epochs:
            self._record_start(training)
        when_back(network, self._after_backward)

    def _record_start(self, training: Training) -> None:
        """One way forth and back; gradients of weights, random numbers and buffers stay as they are."""
        network = training.network
        with Randomness.now(self._device).again(), buffers_kept(network), _without_dropout(network):
            graph, features, loss = training.example()
            go_back(network, graph, features, loss)
        self._after_backward()
        self.end_epoch(0)

    def _before_forward(self, column: int, place: int, _: nn.Module, arguments: tuple[Any, ...]) -> None:
        # A layer computed again from a checkpoint comes here once more, with the same features.
        x = arguments[place]
        if torch.is_grad_enabled() and x.requires_grad:
            rows = rows_of(x.detach().flatten(1), self._components)
            rank1 = self._unseen(1)[0] if self._components is None else rows.rest / rows.size
            self._features[column] = torch.stack([rows.similarity, rows.length, rank1])
            x.register_hook(functools.partial(self._after_input, column))

    def _after_input(self, column: int, gradient: torch.Tensor) -> None:
        rows = rows_of(gradient.flatten(1))
        self._gradients[column] = torch.stack([rows.similarity, rows.length])

    def _after_backward(self) -> None:
        gradients = [self._gradients.get(column, self._unseen(2)) for column in range(self._columns)]
        features = [self._features.get(column, self._unseen(3)) for column in range(self._columns)]
        self._end_batch(torch.cat([torch.stack(gradients, dim=1), torch.stack(features, dim=1)]))  # (5, L + 1)
        self._gradients.clear()
        self._features.clear()


@contextlib.contextmanager
def _without_dropout(network: DeepGNN) -> Iterator[None]:
    """All parts in evaluation, but the network itself in training: it then keeps as few activations as in a step."""
    network.eval()
    network.training = True
    try:
        yield
    finally:
        network.train()
