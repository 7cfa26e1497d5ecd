"""What the decoder sees of the layers: the last one's output, or those of all of them joined."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from lipgnn.network.hops import Hop, inputs_of, targets_of
from lipgnn.runtime import dgl


def join(outputs: Sequence[torch.Tensor], how: str) -> torch.Tensor:
    """What the decoder is given of the outputs x¹ … x^L of all layers, (N, W) each.

        none: x^L;   sum: Σ_ℓ x^ℓ;   concat: x¹ ‖ … ‖ x^L, (N, L·W);   max: the largest of x¹ … x^L in every channel

    Reference: Xu et al., "Representation Learning on Graphs with Jumping Knowledge Networks", ICML 2018; the sum is
    that of Luo et al., "Classic GNNs are Strong Baselines", NeurIPS 2024.
    """
    if how == "none":
        return outputs[-1]
    if how == "concat":
        return torch.cat(list(outputs), dim=-1)
    stacked = torch.stack(list(outputs))
    return stacked.sum(dim=0) if how == "sum" else stacked.amax(dim=0)


def carried(outputs: Sequence[torch.Tensor], graph: dgl.DGLGraph | Hop) -> list[torch.Tensor]:
    """The rows of earlier layers' outputs that belong to the targets of the next layer: all but for a hop."""
    return [targets_of(graph, inputs_of(graph, output)) for output in outputs]
