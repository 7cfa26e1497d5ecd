"""What attention kernels rely on, checked before any of them starts: rows, shapes, types, devices and numbers."""

from __future__ import annotations

import math

import torch

from lipgnn.errors import DataError, UsageError
from lipgnn.kernels.adjacency import Adjacency
from lipgnn.kernels.native import FLOATS


def check_additive(
    adjacency: Adjacency,
    z: torch.Tensor,
    target: torch.Tensor | None,
    attn_l: torch.Tensor,
    attn_r: torch.Tensor,
    bias: torch.Tensor | None,
    edge_weight: torch.Tensor | None,
) -> None:
    """Refuse inputs of `additive` that do not fit the graph or each other."""
    heads, width = _shape_of("z", z, adjacency)
    _expect("z", z, (adjacency.num_sources, heads, width), z)
    if target is not None:
        _expect("the targets' z", target, (adjacency.num_targets, heads, width), z)
    elif adjacency.num_sources != adjacency.num_targets:
        raise DataError(
            f"The graph has {adjacency.num_sources} sources and {adjacency.num_targets} targets, and one z was given.",
            "Give the features of both.",
        )
    _expect("attn_l", attn_l, (1, heads, width), z)
    _expect("attn_r", attn_r, (1, heads, width), z)
    if bias is not None:
        _expect("bias", bias, (heads, width), z)
    if edge_weight is not None:
        _expect("edge_weight", edge_weight, (adjacency.num_edges,), z)


def check_dot_product(
    adjacency: Adjacency,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    edge_weight: torch.Tensor | None = None,
    codes: torch.Tensor | None = None,
) -> None:
    """Refuse inputs of `dot_product` that do not fit the graph or each other."""
    heads, width = _shape_of("query", query, adjacency)
    _expect("query", query, (adjacency.num_targets, heads, width), query)
    _expect("key", key, (adjacency.num_sources, heads, width), query)
    _expect("value", value, (adjacency.num_sources, heads, width), query)
    if edge_weight is not None:
        _expect("edge_weight", edge_weight, (adjacency.num_edges,), query)
    if codes is not None:
        _expect("codes", codes, (len(codes), heads, width), query)


def check_dynamic(
    adjacency: Adjacency,
    key: torch.Tensor,
    query: torch.Tensor,
    attn: torch.Tensor,
    bias: torch.Tensor | None = None,
    edge_weight: torch.Tensor | None = None,
) -> None:
    """Refuse inputs of `dynamic` that do not fit the graph or each other."""
    heads, width = _shape_of("key", key, adjacency)
    _expect("key", key, (adjacency.num_sources, heads, width), key)
    _expect("query", query, (adjacency.num_targets, heads, width), key)
    _expect("attn", attn, (1, heads, width), key)
    if bias is not None:
        _expect("bias", bias, (heads, width), key)
    if edge_weight is not None:
        _expect("edge_weight", edge_weight, (adjacency.num_edges,), key)


def check_shared_product(
    adjacency: Adjacency,
    query: torch.Tensor,
    key: torch.Tensor,
    mixing: torch.Tensor,
    value: torch.Tensor,
    edge_weight: torch.Tensor | None = None,
) -> None:
    """Refuse inputs of `shared_product` that do not fit the graph or each other."""
    heads, width = _shape_of("value", value, adjacency)
    channels = mixing.shape[-1]
    _expect("query", query, (adjacency.num_targets, channels), value)
    _expect("key", key, (adjacency.num_sources, channels), value)
    _expect("mixing", mixing, (heads, channels), value)
    _expect("value", value, (adjacency.num_sources, heads, width), value)
    if edge_weight is not None:
        _expect("edge_weight", edge_weight, (adjacency.num_edges,), value)


def check_numbers(*, kappa: float | None, dropout: float = 0.0, negative_slope: float = 0.0) -> None:
    """Refuse numbers that the kernels cannot compute with."""
    if kappa is not None and not 0 < kappa < math.inf:
        raise UsageError(f"kappa must be a positive number, got {kappa!r}.")
    if not 0 <= dropout <= 1:
        raise UsageError(f"dropout must be between 0 and 1, got {dropout!r}.")
    if not 0 <= negative_slope < math.inf:
        raise UsageError(
            f"negative_slope must be at least 0 in fused kernels, got {negative_slope!r}.", "Use --kernel dgl."
        )


def autocasting(device: str) -> bool:
    """Whether torch chooses types by itself on this kind of device."""
    try:
        return torch.is_autocast_enabled(device)
    except TypeError:  # torch before 2.4
        return torch.is_autocast_cpu_enabled() if device == "cpu" else torch.is_autocast_enabled()


def check_type(dtype: torch.dtype) -> None:
    """Refuse a type that attention is not computed in."""
    if dtype not in FLOATS:
        raise UsageError(
            f"Attention is computed in float32 or float64, and got {str(dtype).removeprefix('torch.')}.",
            "Use features and layers in float32, by .float().",
        )


def _shape_of(name: str, features: torch.Tensor, adjacency: Adjacency) -> tuple[int, int]:
    check_type(features.dtype)
    if features.dim() != 3:
        raise DataError(f"{name} must be (nodes, heads, width), and has shape {tuple(features.shape)}.")
    if adjacency.incoming.start.device != features.device:
        raise DataError(
            f"The graph is on {adjacency.incoming.start.device} and {name} on {features.device}.",
            "Bring both to one device, by .to(device).",
        )
    return features.shape[1], features.shape[2]


def _expect(name: str, array: torch.Tensor, shape: tuple[int, ...], like: torch.Tensor) -> None:
    if array.shape == shape and array.dtype == like.dtype and array.device == like.device:
        return
    raise DataError(
        f"{name} must be {_words(shape, like)} on this graph, and is {_words(tuple(array.shape), array)}.",
        "Give a row for every node and a weight for every edge, all of one type and on one device.",
    )


def _words(shape: tuple[int, ...], array: torch.Tensor) -> str:
    return f"{shape} of {str(array.dtype).removeprefix('torch.')} on {array.device}"
