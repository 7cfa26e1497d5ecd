"""One layer to be compressed: its score tensor, decompositions of it, and the weights that come of them."""

from __future__ import annotations

import torch

from lipgnn.compress.als import Factors, decompose, relative_error
from lipgnn.compress.inputs import coordinates_of
from lipgnn.compress.tensor import ScoreTensor
from lipgnn.nn.transformer import TransformerConv

# The share of the energy that a suggested width holds.
ENOUGH = 0.99


class Layer:
    """A Graph Transformer layer, whose heads can be given shared queries and keys of any width.

    Without a score norm the bias of the keys adds the same to all scores of a node, which the softmax does not see; it
    is dropped. With LipschitzNorm it enters the lengths, so both biases are decomposed with their maps, as a feature
    that is always 1. The norm also sees how long queries are beside keys: components are scaled so that these keep the
    ratio that they have in the heads. Both rules for that norm are ours.

    With the second moments of its input, E[x xᵀ] = L Lᵀ, the tensor that is decomposed is that of LᵀQ_hᵀK_hL. Its
    relative error is then that of the scores of two random nodes, in the root of the mean of squares, and not that of
    the weights: ‖Lᵀ (Q_hᵀK_h − W) L‖² = E[(xᵀ (Q_hᵀK_h − W) y)²] for x and y apart. That is ours as well.

    Parameters
    ----------
    conv : the layer.
    seed : of the decompositions' random starts.
    moments : E[(x, 1) (x, 1)ᵀ] of its input, (F + 1, F + 1).
    """

    def __init__(self, conv: TransformerConv, *, seed: int, moments: torch.Tensor | None = None):
        self.conv = conv
        self.seed = seed
        self.tensor = ScoreTensor.of_layer(conv)
        self.coordinates = None if moments is None else coordinates_of(conv, moments)
        if self.coordinates:
            query, key = self.coordinates
            self.tensor = ScoreTensor(self.tensor.query @ query.root, self.tensor.key @ key.root)
        self._energies = self.tensor.energy()
        self._known: dict[int, Factors] = {}

    def energy(self, width: int) -> float:
        """The share of the energy that so many leading dimensions hold."""
        return self._energies[min(width, len(self._energies)) - 1].item()

    @property
    def suggested(self) -> int:
        """How many dimensions hold 99 % of the energy."""
        return int((self._energies < ENOUGH).sum()) + 1

    def error(self, width: int) -> float:
        """The relative error at a width, which is zero at the full one."""
        return 0.0 if width == self.tensor.full_width else relative_error(self.tensor, self._factors(width))

    def weights(self, width: int) -> dict[str, torch.Tensor]:
        """The tensors of the layer with shared queries and keys that are not those of this one, by name.

        At the full width maps are the same, and every head has its own channels: the mixing has ones in blocks.
        """
        like = self.conv.query.weight
        scale = torch.tensor(self.conv.out_feats**-0.5, dtype=like.dtype)
        if width == self.tensor.full_width:
            own = torch.eye(self.conv.num_heads, dtype=like.dtype)
            return {"mixing": own.repeat_interleave(self.conv.out_feats, dim=1), "scale": scale}
        factors = self._factors(width)
        ratio = self._ratios(factors).sqrt()
        sides, parts = [factors.query * ratio, factors.key / ratio], {"mixing": factors.mixing, "scale": scale}
        if self.coordinates:
            sides = [own.back @ side for own, side in zip(self.coordinates, sides, strict=True)]
        features = like.shape[1]
        for name, side in zip(("query", "key"), sides, strict=True):
            parts[f"{name}.weight"] = side[:features].mT
            if self.conv.query.bias is not None:
                # Where the bias of keys was dropped, there is no last row.
                parts[f"{name}.bias"] = side[features] if len(side) > features else side.new_zeros(width)
        return {name: part.to(like.dtype).contiguous() for name, part in parts.items()}

    def _factors(self, width: int) -> Factors:
        """The decomposition at a width, from the widest narrower one that is known."""
        if width not in self._known:
            narrower = max((other for other in self._known if other < width), default=None)
            self._known[width] = decompose(self.tensor, width, start=self._known.get(narrower), seed=self.seed)
        return self._known[width]

    def _ratios(self, factors: Factors) -> torch.Tensor:
        """How long queries are beside keys in the heads that use a component, (R,).

        It is the geometric mean of ‖Q_h‖ / ‖K_h‖ over the heads, with weights m_hr², so that heads apart keep theirs.
        """
        query, key = (torch.linalg.vector_norm(maps, dim=(1, 2)) for maps in (self.tensor.query, self.tensor.key))
        usable = (query > 0) & (key > 0)
        logarithms = torch.where(usable, query / torch.where(usable, key, 1.0), 1.0).log()  # (H,)
        weights = factors.mixing.square()
        return ((logarithms @ weights) / weights.sum(dim=0).clamp(min=torch.finfo(weights.dtype).tiny)).exp()
