"""Networks of images: pixels are copied to all group elements, and read out over pixels and elements."""

from __future__ import annotations

from typing import NoReturn

import torch

from lipgnn.catalog import SYMMETRIES
from lipgnn.errors import UsageError
from lipgnn.network.deep import DeepGNN
from lipgnn.network.hops import Graphs
from lipgnn.spec.run import RunSpec


class ImageNetwork(DeepGNN):
    """The deep stack on the product graph of P pixels and n group elements (see `lipgnn.groups.product`).

        x⁰(i, h) = encoder(pixel i),   logits = max_h decoder( mean_i x^L(i, h) )

    The same value at all elements makes the first layer a lifting layer. Neither mean nor maximum depends on the order
    of nodes, so that logits do not change where the group moves the image; with `readout` mean the mean over h takes
    the place of the maximum.

    Reference: Romero & Cordonnier, "Group Equivariant Stand-Alone Self-Attention For Vision", ICLR 2021, whose read-out
    sums over pixels.

    Parameters
    ----------
    spec : its `group`, `reach` and `readout` are part of the network.
    channels, num_classes : widths of the input and of the output.
    """

    def __init__(self, spec: RunSpec, channels: int, num_classes: int):
        self.elements = SYMMETRIES[spec.group].order
        super().__init__(spec, channels, num_classes, edge_types=(2 * spec.reach + 1) ** 2 * self.elements)
        self.readout = spec.readout

    def encode(self, x: torch.Tensor) -> torch.Tensor:
        """Pixels (P, C) or (P, B, C) of B images → (P·n, W) or (P·n, B, W)."""
        return super().encode(x).repeat_interleave(self.elements, dim=0)

    def decode(self, graph: Graphs, h: torch.Tensor) -> torch.Tensor:
        """What the body gives, of one image or several → logits (1, C) or (B, C)."""
        h = h.unflatten(0, (-1, self.elements)).mean(dim=0)  # (n, W) or (n, B, W)
        logits = self.decoder(self.dropout(h))
        logits = logits.amax(dim=0) if self.readout == "max" else logits.mean(dim=0)
        return logits if logits.dim() == 2 else logits.unsqueeze(0)

    def from_encoder(self, graph: Graphs, x: torch.Tensor) -> NoReturn:
        raise UsageError("How far a network looks is measured of outputs of nodes, and those of images are of images.")
