"""The steps of attention by the kind of their scores: what each is made of, keeps, and gives back."""

from __future__ import annotations

from typing import Any

import torch

from lipgnn.kernels.adjacency import Adjacency
from lipgnn.kernels.step import Step


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
        self.kept = self._product_arrays(self._features)
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
            grad_longest=grad_out.new_empty(2, layout.padded, sources),
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


class SharedProductStep(Step):
    form = "shared_product"

    def __init__(
        self,
        adjacency: Adjacency,
        query: torch.Tensor,
        key: torch.Tensor,
        mixing: torch.Tensor,
        value: torch.Tensor,
        edge_weight: torch.Tensor | None,
        kappa: float | None,
        **numbers: Any,
    ):
        super().__init__(adjacency, value, kappa, channels=mixing.shape[1], **numbers)
        self._give(value=value)
        # Vectors of heads for every channel, filled up to whole vectors.
        by_channel = torch.nn.functional.pad(mixing.t(), (0, self.layout.padded - self.layout.num_heads))
        self.given |= {"query": query.contiguous(), "key": key.contiguous(), "mixing": by_channel.contiguous()}
        self._weigh(edge_weight)

    def forward(self, **more: torch.Tensor) -> torch.Tensor:
        """The output, (targets, H, D); `kept` is filled."""
        value, targets = self._features, self.adjacency.num_targets
        self.kept = self._product_arrays(value)
        if self.settings["normalize"]:
            self.kept["query_factor"] = value.new_empty(targets)
            self.kept["key_factor"] = value.new_empty(self.adjacency.num_sources)
        return super().forward(**more)

    def backward(self, grad_out: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        """The gradients of query, key, mixing, value and edge_weight."""
        layout, adjacency, channels = self.layout, self.adjacency, self.settings["channels"]
        sources, targets = adjacency.num_sources, adjacency.num_targets
        shapes = {
            "query": (targets, channels),
            "key": (sources, channels),
            "mixing": (channels, layout.padded),
            "value": (sources, layout.size),
        }
        grads = self._gradients(grad_out, shapes)
        self.run(
            "backward",
            **layout.room_for(grad_out),
            grad_length=grad_out.new_empty(targets, 2, layout.padded),
            grad_longest=grad_out.new_empty(2, layout.padded, sources),
            partial=grad_out.new_empty(adjacency.num_pieces, 2, channels, layout.padded),
            **grads,
        )
        mixing = grads["grad_mixing"][:, : layout.num_heads].t()
        of_value, of_weight = self._in_heads(grads, "value"), grads.get("grad_edge_weight")
        return grads["grad_query"], grads["grad_key"], mixing, of_value, of_weight
