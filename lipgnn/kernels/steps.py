"""One step of attention as the compiled kernel takes it: how features lie in memory, and the arrays of a call."""

from __future__ import annotations

from typing import Any

import torch

from lipgnn.errors import UsageError
from lipgnn.kernels import native
from lipgnn.kernels.adjacency import Adjacency

# Exponentials of scores up to this size can be summed in float32 without taking off the largest score first.
_SAFE_SCORE = 60.0
# Heads that fill one vector.
VECTOR_HEADS = (4, 8)
# The compiled kernel has room for the values of so many (WidthFastest in native/rows.h).
MOST_HEADS = 1024


class Step:
    """One step of attention: what it is given and keeps for the way back, and the call that computes it.

    Attributes
    ----------
    layout : that of the features.
    settings : sizes and switches.
    kept : arrays by name.
    """

    form: str

    def __init__(self, features: torch.Tensor, kappa: float | None, **numbers: Any):
        self.layout = Layout(features)
        self.settings = self.layout.settings(kappa, **numbers)
        self.kept: dict[str, torch.Tensor] = {}
        self._features = features

    def forward(self, adjacency: Adjacency, **more: torch.Tensor) -> torch.Tensor:
        """The output, (N, H, D); `kept` is filled."""
        features = self._features
        out = features.new_empty(features.shape)
        values = {**self.settings, **self.kept, **more}
        native.call(self.form, "forward", features.dtype, graph=adjacency, **values, out=out)
        return out

    def spread(self, adjacency: Adjacency) -> tuple[torch.Tensor, torch.Tensor]:
        """Entropy and largest of every target's weights, (N, H)."""
        found = self._features.new_empty(self.layout.nodes, 2, self.layout.padded)
        self.forward(adjacency, spread=found)
        entropy, largest = found[..., : self.layout.num_heads].unbind(1)
        return entropy, largest


class AdditiveStep(Step):
    form = "additive"

    def __init__(
        self, z: torch.Tensor, attn_l: torch.Tensor, attn_r: torch.Tensor, kappa: float | None, **numbers: Any
    ):
        super().__init__(z, kappa, **numbers)
        layout, nodes, heads = self.layout, self.layout.nodes, self.layout.padded
        self.kept = {
            "z": layout.rows(z),
            "attn": torch.stack([layout.rows(attn_l), layout.rows(attn_r)]),
            "source": z.new_empty(nodes, 2, heads),
            "target": z.new_empty(nodes, 3 + self.settings["normalize"] + 2 * self.settings["shift"], heads),
        }
        if kappa:
            self.kept["attn_length"] = z.new_empty(heads)
            self.kept["longest_length"] = z.new_empty(nodes, heads)
            self.kept["longest"] = z.new_empty(nodes, heads, dtype=torch.int32)


class DotProductStep(Step):
    form = "dot_product"

    def __init__(
        self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, kappa: float | None, **numbers: Any
    ):
        super().__init__(query, kappa, **numbers)
        layout, nodes, heads = self.layout, self.layout.nodes, self.layout.padded
        self.kept = {
            "query": layout.rows(query),
            "key": layout.rows(key),
            "value": layout.rows(value),
            "target": query.new_empty(nodes, 2 + 2 * self.settings["normalize"] + 2 * self.settings["shift"], heads),
        }
        if kappa:
            self.kept["length"] = query.new_empty(nodes, 3, heads)
            self.kept["longest_length"] = query.new_empty(nodes, 2, heads)
            self.kept["longest"] = query.new_empty(nodes, 2, heads, dtype=torch.int32)


class Layout:
    """How features (N, H, D) lie in memory, and the same order for what belongs to them."""

    def __init__(self, features: torch.Tensor):
        self.nodes, self.num_heads, self.width = features.shape
        if self.num_heads > MOST_HEADS:
            raise UsageError(
                f"The fused kernel takes up to {MOST_HEADS} heads, got {self.num_heads}.", "Use --kernel dgl."
            )
        self.size = self.num_heads * self.width
        lies_so = self.num_heads in VECTOR_HEADS and features.transpose(1, 2).is_contiguous()
        self.heads_fastest = lies_so and not features.is_contiguous()
        # Values of heads are computed in vectors of four or eight.
        self.padded = 4 if self.num_heads <= 4 else -(-self.num_heads // 8) * 8

    def rows(self, features: torch.Tensor) -> torch.Tensor:
        """(…, H, D) → rows (…, H·D) in the order of memory."""
        features = features.transpose(-1, -2) if self.heads_fastest else features
        return features.contiguous().flatten(-2)

    def heads(self, rows: torch.Tensor) -> torch.Tensor:
        """Rows (…, H·D) → (…, H, D), without moving anything."""
        if self.heads_fastest:
            return rows.unflatten(-1, (self.width, self.num_heads)).transpose(-1, -2)
        return rows.unflatten(-1, (self.num_heads, self.width))

    def settings(self, kappa: float | None, **numbers: Any) -> dict[str, Any]:
        """The sizes and switches of a call, with further numbers."""
        bounded = kappa is not None and 1 / kappa <= _SAFE_SCORE
        return {
            "heads": self.num_heads,
            "width": self.width,
            "heads_fastest": self.heads_fastest,
            "normalize": kappa is not None,
            "shift": not bounded,
            "kappa": kappa or 0.0,
            **numbers,
        }

    def room_for(self, grad_out: torch.Tensor) -> dict[str, torch.Tensor]:
        """The gradient that comes in, and room for it in the order of memory where that is another."""
        grad_out = grad_out.contiguous()
        return {"grad_out": grad_out, "grad_rows": torch.empty_like(grad_out) if self.heads_fastest else grad_out}
