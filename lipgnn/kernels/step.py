"""One step of attention as the compiled kernel takes it: how features lie in memory, and the arrays of a call."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch.autograd.function import FunctionCtx

from lipgnn.errors import UsageError
from lipgnn.kernels import native
from lipgnn.kernels.adjacency import Adjacency
from lipgnn.kernels.native import MOST_HEADS, VECTOR_HEADS
from lipgnn.kernels.once import differentiable_once

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

    def _product_arrays(self, like: torch.Tensor) -> dict[str, torch.Tensor]:
        """Room for what steps by products of queries and keys keep of every target, and of lengths under the norm."""
        heads, targets = self.layout.padded, self.adjacency.num_targets
        normalize, shift = self.settings["normalize"], self.settings["shift"]
        kept = {"target": like.new_empty(targets, 2 + 2 * normalize + 2 * shift, heads)}
        if normalize:
            kept["query_length"] = like.new_empty(targets, heads)
            kept["length"] = like.new_empty(self.adjacency.num_sources, 2, heads)
            kept["longest_length"] = like.new_empty(targets, 2, heads)
            kept["longest"] = like.new_empty(targets, 2, heads, dtype=torch.int32)
        return kept

    def _in_heads(self, grads: dict[str, torch.Tensor], name: str) -> torch.Tensor | None:
        """The gradient of features that were given, as these are, (…, H, D)."""
        return self.layout.heads(grads[f"grad_{name}"]) if f"grad_{name}" in grads else None


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


class Attend(torch.autograd.Function):
    """One step of attention, by its class, the graph, its settings and what it is made of."""

    @staticmethod
    def forward(
        ctx: FunctionCtx,
        kind: type[Step],
        adjacency: Adjacency,
        settings: dict[str, Any],
        *inputs: torch.Tensor | None,
    ) -> torch.Tensor:
        step = kind(adjacency, *inputs, **settings)
        out = step.forward()
        # The inputs as well, on which a second derivative would depend.
        arrays = {**step.given, **step.kept}
        ctx.step, ctx.names = step.emptied(), tuple(arrays)
        ctx.save_for_backward(*arrays.values(), *inputs)
        return out

    @staticmethod
    @differentiable_once
    def backward(ctx: FunctionCtx, grad_out: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        # Asked for once: under a checkpoint they are computed for it.
        step = ctx.step.filled(dict(zip(ctx.names, ctx.saved_tensors, strict=False)))
        return None, None, None, *step.backward(grad_out)
