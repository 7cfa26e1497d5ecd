"""What the layers of a model are given on data, by its second moments: where errors of scores count, and how much."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from lipgnn.nn.transformer import TransformerConv
from lipgnn.tasks import TaskData, find_task
from lipgnn.tasks.saved import SavedModel

# Directions in which features vary less than the square root of this, beside others, count for nothing.
_NOTHING = 1e-13


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Features x = L z, such that the second moments of z are the identity.

    Attributes
    ----------
    root : L, (F, r).
    back : L (LᵀL)⁻¹, (F, r): a vector w in z, with w·z = (back w)·x.
    """

    root: torch.Tensor
    back: torch.Tensor

    @classmethod
    def of(cls, moments: torch.Tensor) -> Coordinates:
        """From second moments E[x xᵀ] (F, F); of nothing, one direction that is zero."""
        values, vectors = torch.linalg.eigh(moments)
        used = values > max(_NOTHING * values[-1].item(), 0.0)
        if not used.any():
            nothing = moments.new_zeros(len(moments), 1)
            return cls(nothing, nothing)
        lengths = values[used].sqrt()
        return cls(vectors[:, used] * lengths, vectors[:, used] / lengths)


def coordinates_of(conv: TransformerConv, moments: torch.Tensor) -> tuple[Coordinates, Coordinates]:
    """The coordinates of its queries' and of its keys' features, as its score tensor has them.

    Without a score norm only differences of a node's scores matter, and so do those of its neighbours' features: for
    keys the moments are then about the mean.

    Parameters
    ----------
    moments : E[(x, 1) (x, 1)ᵀ], (F + 1, F + 1).
    """
    plain, mean = moments[:-1, :-1], moments[:-1, -1]
    own = moments if conv.query.bias is not None else plain
    return Coordinates.of(own), Coordinates.of(own if conv.norm is not None else plain - torch.outer(mean, mean))


@torch.no_grad()
def moments_of(saved: SavedModel, data: TaskData, device: torch.device) -> dict[str, torch.Tensor]:
    """E[(x, 1) (x, 1)ᵀ] over the nodes of the data for every layer's input x, by the layer's name; float64, on the CPU.

    Of many graphs, a batch is looked at.
    """
    network, found = saved.network.to(device).eval(), {}
    batch = find_task(data.task).batches(saved.spec, data, device).whole()
    hooks = [
        module.register_forward_hook(lambda _, given, __, name=name: found.update({name: _moments(given[1])}))
        for name, module in network.named_modules()
        if isinstance(module, TransformerConv)
    ]
    try:
        network(batch.graph, batch.features)
    finally:
        for hook in hooks:
            hook.remove()
    return found


def _moments(x: torch.Tensor) -> torch.Tensor:
    rows = torch.nn.functional.pad(x.detach().double().flatten(0, -2), (0, 1), value=1.0)
    return (rows.mT @ rows / len(rows)).cpu()
