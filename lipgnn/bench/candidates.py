"""The attention step and the whole layer in every way there is, on the same inputs and with the same weights.

Every step returns its output and then the gradients of it, weighted with one fixed random gradient: of the projected
features and the attention vectors for an edge part, of the input for a whole layer. What is compared is thereby equal,
and a test holds it to that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from lipgnn.bench.compare import Step
from lipgnn.bench.gemm import products, replay
from lipgnn.bench.inputs import Inputs, Tensors
from lipgnn.catalog import NO_NORM
from lipgnn.kernels import fused
from lipgnn.nn.softmax import aggregate
from lipgnn.runtime import dgl


def build(what: str, norm: str | None, inputs: Inputs) -> Step:
    """The step of one candidate; see `lipgnn.bench.measurements.ATTENTION` for the names."""
    builders: dict[str, Callable[[], Step]] = {
        "fused": lambda: _edge_part(inputs, norm, is_fused=True),
        "dgl": lambda: _edge_part(inputs, norm, is_fused=False),
        "gather": lambda: _gather(inputs),
        "layer fused": lambda: _own_layer(inputs, norm, "fused"),
        "layer dgl": lambda: _own_layer(inputs, norm, "dgl"),
        "dgl.nn": lambda: _dgl_nn(inputs),
        # The reference has no matrix product but those of the linear maps.
        "gemm": lambda: replay(products(_own_layer(inputs, norm, "dgl"))),
        "plain": lambda: _edge_part(inputs.plain, norm, is_fused=True),
        "layer plain": lambda: _own_layer(inputs.plain, norm, "fused"),
    }
    return builders[what]()


def _edge_part(inputs: Inputs, norm: str | None, *, is_fused: bool) -> Step:
    layer = inputs.layer(norm or NO_NORM, "dgl")
    layer.load_state_dict(inputs.weights)
    z = inputs.z_fused if is_fused else inputs.z
    leaves = (*z, *_attention_vectors(layer))
    gradient = inputs.in_fused_order(inputs.gradient) if is_fused else inputs.gradient
    forward = _fused_forward(inputs, layer) if is_fused else _dgl_forward(inputs, layer)
    return _step(forward, leaves, gradient)


def _fused_forward(inputs: Inputs, layer: nn.Module) -> Callable[[], torch.Tensor]:
    common: dict[str, Any] = {"kappa": layer.norm and layer.norm.kappa, "dropout": 0.0, "seed": 0}
    if inputs.shape.sharing:
        query, key, value = inputs.z_fused
        common["scale"] = layer.scale.item()
        return lambda: fused.shared_product(inputs.graph, query, key, layer.mixing, value, **common)
    if inputs.shape.model == "gt":
        common["codes"] = layer.edge_type
        return lambda: fused.dot_product(inputs.graph, *inputs.z_fused, **common)
    compute = fused.additive if inputs.shape.model == "gat" else fused.dynamic
    common["negative_slope"] = layer.leaky_relu.negative_slope
    return lambda: compute(inputs.graph, *inputs.z_fused, *_attention_vectors(layer), **common)


def _attention_vectors(layer: nn.Module) -> Tensors:
    """Those of gat are two, that of gatv2 is one; of gt they are the mixing of shared heads and codes of edge types."""
    names = ("attn", "attn_l", "attn_r", "mixing", "edge_type")
    return tuple(parameter for name, parameter in layer.named_parameters() if name in names)


def _dgl_forward(inputs: Inputs, layer: nn.Module) -> Callable[[], torch.Tensor]:
    def forward() -> torch.Tensor:
        scores = layer.scores(inputs.graph, *inputs.z)
        if inputs.shape.model == "gat":
            scores = layer.leaky_relu(scores)
        value = inputs.z[0 if inputs.shape.model == "gatv2" else -1]
        return aggregate(inputs.graph, scores, value, layer.attn_drop)[0]

    return forward


def _own_layer(inputs: Inputs, norm: str | None, kernel: str) -> Step:
    layer = inputs.layer(norm or NO_NORM, kernel)
    layer.load_state_dict(inputs.weights)
    return _layer_step(inputs, layer, lambda: layer(inputs.graph, inputs.x))


def _dgl_nn(inputs: Inputs) -> Step:
    kind = dgl.nn.GATConv if inputs.shape.model == "gat" else dgl.nn.GATv2Conv
    layer = kind(inputs.channels, inputs.shape.width, inputs.shape.heads)
    layer.load_state_dict(inputs.weights)
    return _layer_step(inputs, layer, lambda: layer(inputs.graph, inputs.x))


def _layer_step(inputs: Inputs, layer: nn.Module, forward: Callable[[], torch.Tensor]) -> Step:
    return _step(forward, (inputs.x, *layer.parameters()), inputs.gradient)


def _step(forward: Callable[[], torch.Tensor], leaves: Tensors, gradient: torch.Tensor) -> Step:
    def step() -> Tensors:
        out = forward()
        return out.detach(), *torch.autograd.grad(out, leaves, gradient)

    return step


def _gather(inputs: Inputs) -> Step:
    values = inputs.z[-1].detach().flatten(1)  # (N, H·D)
    return lambda: [dgl.ops.copy_u_sum(inputs.graph, values) for _ in range(3)][-1]
