"""The attention step and the whole layer in every way there is, on the same inputs and with the same weights.

Every step returns its output and then the gradients of it, weighted with one fixed random gradient: of the projected
features and the attention vectors for an edge part, of the input for a whole layer. What is compared is thereby equal,
and a test holds it to that.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from lipgnn.bench.compare import Step
from lipgnn.bench.inputs import CPU, Inputs, Shape, Tensors
from lipgnn.bench.peak import available_mb
from lipgnn.catalog import NO_NORM
from lipgnn.kernels import fused
from lipgnn.nn.attention import aggregate
from lipgnn.runtime import dgl

NORM_FREE = ("gather", "gemm")
FOREIGN = ("dgl.nn", "pyg")
# Arrays of one value an edge, head and channel that PyTorch Geometric 2.8 holds at once, by model and backward pass,
# as this bench measures them, rounded up.
_PYG_ARRAYS = {("gat", False): 3, ("gat", True): 5, ("gt", False): 5, ("gt", True): 7}
# The rest is for the other candidates and for whoever else uses the machine.
_SHARE_OF_MEMORY = 0.6


def build(what: str, norm: str | None, inputs: Inputs) -> Step:
    """The step of one candidate; see `lipgnn.bench.rows.ATTENTION` for the names."""
    builders: dict[str, Callable[[], Step]] = {
        "fused": lambda: _edge_part(inputs, norm, is_fused=True),
        "dgl": lambda: _edge_part(inputs, norm, is_fused=False),
        "gather": lambda: _gather(inputs),
        "layer fused": lambda: _own_layer(inputs, norm, "fused"),
        "layer dgl": lambda: _own_layer(inputs, norm, "dgl"),
        "dgl.nn": lambda: _dgl_nn(inputs),
        "pyg": lambda: _pyg(inputs),
        "gemm": lambda: _gemm(inputs),
    }
    return builders[what]()


def obstacle(what: str, shape: Shape, num_edges: int) -> str | None:
    """Why a candidate cannot be measured here; None if it can."""
    if what in ("fused", "layer fused"):
        return fused.obstacle(CPU)
    if what == "dgl.nn" and shape.model != "gat":
        return "DGL has no layer of this kind"
    if what != "pyg":
        return None
    if importlib.util.find_spec("torch_geometric") is None:
        return "PyTorch Geometric is not installed"
    arrays = _PYG_ARRAYS[shape.model, shape.backward]
    needed = arrays * num_edges * shape.heads * shape.width * 4 / 2**20
    free = available_mb()
    if free is not None and needed > _SHARE_OF_MEMORY * free:
        return f"it would need about {needed / 1024:.1f} GB, and {free / 1024:.1f} GB are free"
    return None


def _edge_part(inputs: Inputs, norm: str | None, *, is_fused: bool) -> Step:
    layer = inputs.layer(norm or NO_NORM, "dgl")
    layer.load_state_dict(inputs.weights)
    z = inputs.z_fused if is_fused else inputs.z
    leaves = (*z, layer.attn_l, layer.attn_r) if inputs.shape.model == "gat" else z
    gradient = inputs.in_fused_order(inputs.gradient) if is_fused else inputs.gradient
    forward = _fused_forward(inputs, layer) if is_fused else _dgl_forward(inputs, layer)
    return _step(forward, leaves, gradient, inputs.shape.backward)


def _fused_forward(inputs: Inputs, layer: nn.Module) -> Callable[[], torch.Tensor]:
    common: dict[str, Any] = {"kappa": layer.norm and layer.norm.kappa, "dropout": 0.0, "seed": 0}
    if inputs.shape.model == "gt":
        return lambda: fused.dot_product(inputs.graph, *inputs.z_fused, **common)
    slope = layer.leaky_relu.negative_slope
    return lambda: fused.additive(
        inputs.graph, *inputs.z_fused, layer.attn_l, layer.attn_r, negative_slope=slope, **common
    )


def _dgl_forward(inputs: Inputs, layer: nn.Module) -> Callable[[], torch.Tensor]:
    def forward() -> torch.Tensor:
        scores = layer.scores(inputs.graph, *inputs.z)
        if inputs.shape.model == "gat":
            scores = layer.leaky_relu(scores)
        return aggregate(inputs.graph, scores, inputs.z[-1], layer.attn_drop)[0]

    return forward


def _own_layer(inputs: Inputs, norm: str | None, kernel: str) -> Step:
    layer = inputs.layer(norm or NO_NORM, kernel)
    layer.load_state_dict(inputs.weights)
    return _layer_step(inputs, layer, lambda: layer(inputs.graph, inputs.x))


def _dgl_nn(inputs: Inputs) -> Step:
    layer = dgl.nn.GATConv(inputs.channels, inputs.shape.width, inputs.shape.heads)
    layer.load_state_dict(inputs.weights)
    return _layer_step(inputs, layer, lambda: layer(inputs.graph, inputs.x))


def _pyg(inputs: Inputs) -> Step:
    import torch_geometric.nn as pyg

    shape, weights = inputs.shape, inputs.weights
    if shape.model == "gat":
        layer = pyg.GATConv(inputs.channels, shape.width, shape.heads, add_self_loops=False)
        renamed = {"lin.weight": "fc.weight", "att_src": "attn_l", "att_dst": "attn_r", "bias": "bias"}
    else:
        layer = pyg.TransformerConv(inputs.channels, shape.width, shape.heads)
        maps = ((f"lin_{name}", name) for name in ("query", "key", "value", "skip"))
        renamed = {f"{theirs}.{part}": f"{ours}.{part}" for theirs, ours in maps for part in ("weight", "bias")}
    layer.load_state_dict({theirs: weights[ours] for theirs, ours in renamed.items()})
    edge_index = torch.stack(inputs.graph.edges())
    return _layer_step(inputs, layer, lambda: layer(inputs.x, edge_index).view_as(inputs.gradient))


def _layer_step(inputs: Inputs, layer: nn.Module, forward: Callable[[], torch.Tensor]) -> Step:
    return _step(forward, (inputs.x, *layer.parameters()), inputs.gradient, inputs.shape.backward)


def _step(forward: Callable[[], torch.Tensor], leaves: Tensors, gradient: torch.Tensor, backward: bool) -> Step:
    def step() -> Tensors:
        if not backward:
            with torch.no_grad():
                return (forward(),)
        out = forward()
        return out.detach(), *torch.autograd.grad(out, leaves, gradient)

    return step


def _gather(inputs: Inputs) -> Step:
    values = inputs.z[-1].detach().flatten(1)  # (N, H·D)
    turns = 3 if inputs.shape.backward else 1
    return lambda: [dgl.ops.copy_u_sum(inputs.graph, values) for _ in range(turns)][-1]


def _gemm(inputs: Inputs) -> Step:
    maps = [weight for weight in inputs.weights.values() if weight.dim() == 2]
    x, gradient = inputs.x.detach(), inputs.gradient.flatten(1)

    def step() -> torch.Tensor:
        for weight in maps:
            out = x @ weight.t()
            if inputs.shape.backward:
                gradient.t() @ x
                out = gradient @ weight
        return out

    return step
