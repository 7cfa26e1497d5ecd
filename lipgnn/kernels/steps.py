"""One step of attention as the compiled kernel takes it: how features lie in memory, and the arrays of a call."""

from __future__ import annotations

import copy
from typing import Any

import torch

from lipgnn.errors import UsageError
from lipgnn.kernels import native
from lipgnn.kernels.adjacency import Adjacency
from lipgnn.kernels.native import MOST_HEADS, VECTOR_HEADS

# Exponentials of scores up to this size can be summed in float32 without taking off the largest score first.
_SAFE_SCORE = 60.0


class Step:
    """One step of attention: what it is given and keeps for the way back, and the call that computes it.

    Attributes
    ----------
    layout : that of the features.
    settings : sizes and switches.
    given : arrays by name, as they came in and in the order of memory.
    kept : further arrays by name, which are filled on the way.
    """

    form: str

    def __init__(self, adjacency: Adjacency, features: torch.Tensor, kappa: float | None, **numbers: Any):
        self.adjacency, self.dtype = adjacency, features.dtype
        self.layout = Layout(features)
        self.settings = self.layout.settings(kappa, **numbers)
        self.given: dict[str, torch.Tensor] = {}
        self.kept: dict[str, torch.Tensor] = {}
        self._features = features

    def forward(self, **more: torch.Tensor) -> torch.Tensor:
        """The output, (targets, H, D); `kept` is filled."""
        features, targets = self._features, self.adjacency.num_targets
        out = features.new_empty(targets, self.layout.num_heads, self.layout.width)
        self.run("forward", **more, out=out)
        return out

    def backward(self, grad_out: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        """The gradients of what the step was made of, in its order, from that of the output."""
        raise NotImplementedError

    def run(self, direction: str, **more: torch.Tensor) -> None:
        """Call the kernel, with further arrays."""
        values = {**self.settings, **self.given, **self.kept, **more}
        native.call(self.form, direction, self.dtype, graph=self.adjacency, **values)

    def emptied(self) -> Step:
        """The same without its arrays, which autograd keeps."""
        step = copy.copy(self)
        step.given, step.kept, step._features = {}, {}, None
        return step

    def filled(self, arrays: dict[str, torch.Tensor]) -> Step:
        """The same with arrays again."""
        step = copy.copy(self)
        step.given = arrays
        return step

    def spread(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Entropy and largest of every target's weights, (targets, H)."""
        found = self._features.new_empty(self.adjacency.num_targets, 2, self.layout.padded)
        self.forward(spread=found)
        entropy, largest = found[..., : self.layout.num_heads].unbind(1)
        return entropy, largest

    def _give(self, **features: torch.Tensor | None) -> None:
        self.given |= {name: self.layout.rows(x) for name, x in features.items() if x is not None}

    def _weigh(self, edge_weight: torch.Tensor | None) -> None:
        if edge_weight is not None:
            self.given["edge_weight"] = edge_weight.contiguous()

    def _gradients(self, grad_out: torch.Tensor, shapes: dict[str, tuple[int, ...]]) -> dict[str, torch.Tensor]:
        """Room for the gradients of what was given, of these shapes, and of edge weights."""
        shapes = {**shapes, "edge_weight": (self.adjacency.num_edges,)}
        return {f"grad_{name}": grad_out.new_empty(shape) for name, shape in shapes.items() if name in self.given}

    def _in_heads(self, grads: dict[str, torch.Tensor], name: str) -> torch.Tensor | None:
        """The gradient of features that were given, as these are, (…, H, D)."""
        return self.layout.heads(grads[f"grad_{name}"]) if f"grad_{name}" in grads else None


class AdditiveStep(Step):
    form = "additive"

    def __init__(
        self,
        adjacency: Adjacency,
        z: torch.Tensor,
        z_target: torch.Tensor | None,
        attn_l: torch.Tensor,
        attn_r: torch.Tensor,
        bias: torch.Tensor | None,
        edge_weight: torch.Tensor | None,
        kappa: float | None,
        **numbers: Any,
    ):
        super().__init__(adjacency, z, kappa, **numbers)
        self._give(z=z, z_target=z_target, bias=bias)
        self.given["attn"] = torch.stack([self.layout.rows(attn_l), self.layout.rows(attn_r)])
        self._weigh(edge_weight)

    def forward(self, **more: torch.Tensor) -> torch.Tensor:
        """The output, (targets, H, D); `kept` is filled."""
        z, heads, targets = self._features, self.layout.padded, self.adjacency.num_targets
        normalize, shift = self.settings["normalize"], self.settings["shift"]
        self.kept = {
            "source": z.new_empty(self.adjacency.num_sources, 2, heads),
            "target": z.new_empty(targets, 3 + normalize + 2 * shift, heads),
        }
        if normalize:
            self.kept["attn_length"] = z.new_empty(heads)
            self.kept["longest_length"] = z.new_empty(targets, heads)
            self.kept["longest"] = z.new_empty(targets, heads, dtype=torch.int32)
            if "z_target" in self.given:
                self.kept["own_length"] = z.new_empty(targets, heads)
        return super().forward(**more)

    def backward(self, grad_out: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        """The gradients of z, z_target, attn_l, attn_r, bias and edge_weight."""
        layout, adjacency = self.layout, self.adjacency
        size, heads, sources, targets = layout.size, layout.padded, adjacency.num_sources, adjacency.num_targets
        shapes = {"z": (sources, size), "z_target": (targets, size), "attn": (2, 1, size), "bias": (size,)}
        grads = self._gradients(grad_out, shapes)
        self.run(
            "backward",
            **layout.room_for(grad_out),
            grad_right=grad_out.new_empty(targets, heads),
            grad_length=grad_out.new_empty(targets, 2, heads),
            grad_longest=grad_out.new_empty(heads, sources),
            partial=grad_out.new_empty(adjacency.num_pieces, 3 * size + heads),
            **grads,
        )
        z, z_target, attn, bias = (self._in_heads(grads, name) for name in shapes)
        return z, z_target, *attn, bias, grads.get("grad_edge_weight")


class DotProductStep(Step):
    form = "dot_product"
    # Of every source: that of its key, and that of its value.
    lengths = 2

    def __init__(
        self,
        adjacency: Adjacency,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        edge_weight: torch.Tensor | None,
        kappa: float | None,
        **numbers: Any,
    ):
        super().__init__(adjacency, query, kappa, **numbers)
        self._give(query=query, key=key, value=value)
        self._weigh(edge_weight)

    def forward(self, **more: torch.Tensor) -> torch.Tensor:
        """The output, (targets, H, D); `kept` is filled."""
        query, heads, targets = self._features, self.layout.padded, self.adjacency.num_targets
        normalize, shift = self.settings["normalize"], self.settings["shift"]
        self.kept = {"target": query.new_empty(targets, 2 + 2 * normalize + 2 * shift, heads)}
        if normalize:
            self.kept["query_length"] = query.new_empty(targets, heads)
            self.kept["length"] = query.new_empty(self.adjacency.num_sources, self.lengths, heads)
            self.kept["longest_length"] = query.new_empty(targets, 2, heads)
            self.kept["longest"] = query.new_empty(targets, 2, heads, dtype=torch.int32)
        return super().forward(**more)

    def backward(self, grad_out: torch.Tensor, **more: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        """The gradients of query, key, value and edge_weight; `more` are further arrays of the kernel."""
        layout, sources, targets = self.layout, self.adjacency.num_sources, self.adjacency.num_targets
        nodes = {"query": targets, "key": sources, "value": sources}
        grads = self._gradients(grad_out, {name: (count, layout.size) for name, count in nodes.items()})
        self.run(
            "backward",
            **layout.room_for(grad_out),
            grad_length=grad_out.new_empty(targets, 2, layout.padded),
            grad_longest=grad_out.new_empty(self.lengths, layout.padded, sources),
            **grads,
            **more,
        )
        return *(self._in_heads(grads, name) for name in nodes), grads.get("grad_edge_weight")


class DynamicStep(Step):
    form = "dynamic"

    def __init__(
        self,
        adjacency: Adjacency,
        key: torch.Tensor,
        query: torch.Tensor,
        attn: torch.Tensor,
        bias: torch.Tensor | None,
        edge_weight: torch.Tensor | None,
        kappa: float | None,
        **numbers: Any,
    ):
        super().__init__(adjacency, key, kappa, **numbers)
        self._give(key=key, query=query, attn=attn, bias=bias)
        self._weigh(edge_weight)

    def forward(self, **more: torch.Tensor) -> torch.Tensor:
        """The output, (targets, H, D); `kept` is filled."""
        key, heads, targets = self._features, self.layout.padded, self.adjacency.num_targets
        normalize, shift = self.settings["normalize"], self.settings["shift"]
        self.kept = {"target": key.new_empty(targets, 3 + normalize + 2 * shift, heads)}
        if normalize:
            self.kept["attn_length"] = key.new_empty(heads)
            self.kept["key_length"] = key.new_empty(self.adjacency.num_sources, heads)
            self.kept["query_length"] = key.new_empty(targets, heads)
            self.kept["longest_length"] = key.new_empty(targets, heads)
            self.kept["longest"] = key.new_empty(targets, heads, dtype=torch.int32)
        return super().forward(**more)

    def backward(self, grad_out: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        """The gradients of key, query, attn, bias and edge_weight."""
        layout, adjacency = self.layout, self.adjacency
        size, heads, sources, targets = layout.size, layout.padded, adjacency.num_sources, adjacency.num_targets
        shapes = {"key": (sources, size), "query": (targets, size), "attn": (1, size), "bias": (size,)}
        grads = self._gradients(grad_out, shapes)
        self.run(
            "backward",
            **layout.room_for(grad_out),
            grad_length=grad_out.new_empty(targets, heads),
            grad_longest=grad_out.new_empty(heads, sources),
            partial=grad_out.new_empty(adjacency.num_pieces, 3 * size + heads),
            **grads,
        )
        return *(self._in_heads(grads, name) for name in shapes), grads.get("grad_edge_weight")


class Layout:
    """How features (N, H, D) lie in memory, and the same order for what belongs to them."""

    def __init__(self, features: torch.Tensor):
        self.num_heads, self.width = features.shape[1:]
        if self.num_heads > MOST_HEADS:
            raise UsageError(
                f"The fused kernel takes up to {MOST_HEADS} heads, got {self.num_heads}.", "Use --kernel dgl."
            )
        self.size = self.num_heads * self.width
        lies_so = self.num_heads in VECTOR_HEADS and features.transpose(1, 2).is_contiguous()
        self.heads_fastest = lies_so and not features.is_contiguous()
        self.padded = native.padded(self.num_heads)

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
