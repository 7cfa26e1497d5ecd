"""Attention written once more as plain loops over edges in float64 numpy, and small graphs to compare on.

Nothing here calls the code under test. Edges are pairs (source, target) in the order of their ids.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import torch
from hypothesis import strategies as st
from torch import nn

from lipgnn.runtime import dgl

Edges = list[tuple[int, int]]

# A path, a triangle, a doubled edge (4, 5) and a node 6 apart; every degree from one to four occurs with the loops.
SMALL = [(0, 1), (1, 0), (1, 2), (2, 3), (3, 4), (4, 2), (4, 5), (4, 5), (2, 5)]


def small_graph(*, loops: bool = True) -> dgl.DGLGraph:
    """Seven nodes, directed and doubled edges; without loops, node 6 has no edge at all."""
    return build(SMALL + ([(i, i) for i in range(7)] if loops else []), nodes=7)


def build(edges: Edges, *, nodes: int) -> dgl.DGLGraph:
    """A DGL graph with these edges, in this order."""
    sources, targets = zip(*edges, strict=True) if edges else ((), ())
    ids = (torch.tensor(sources, dtype=torch.int64), torch.tensor(targets, dtype=torch.int64))
    return dgl.graph(ids, num_nodes=nodes)


@st.composite
def graphs(draw: st.DrawFn, *, complete: str = "loops", max_nodes: int = 7) -> dgl.DGLGraph:
    """Any small graph, doubled edges included.

    `complete` says what is added: "loops" the missing self-loops, "entered" an edge into every node that
    none enters, "nothing" nothing.
    """
    nodes = draw(st.integers(1, max_nodes))
    node = st.integers(0, nodes - 1)
    edges = draw(st.lists(st.tuples(node, node), max_size=2 * nodes))
    if complete == "loops":
        edges += [(i, i) for i in range(nodes) if (i, i) not in edges]
    elif complete == "entered":
        edges += [((i + 1) % nodes, i) for i in range(nodes) if all(target != i for _, target in edges)]
    return build(edges, nodes=nodes)


def edges_of(graph: dgl.DGLGraph) -> Edges:
    """The edges of a graph in the order of their ids."""
    sources, targets = graph.edges(order="eid")
    return list(zip(sources.tolist(), targets.tolist(), strict=True))


def normal(seed: int, *shape: int, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    """Normal draws that depend on the seed alone."""
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape)).to(dtype)


def redraw(module: nn.Module, seed: int, dtype: torch.dtype = torch.float64) -> nn.Module:
    """The module in this type, with all parameters, biases as well, drawn anew from the seed alone."""
    module.to(dtype)
    with torch.no_grad():
        for position, parameter in enumerate(module.parameters()):
            parameter.copy_(normal(1000 * seed + position, *parameter.shape))
    return module


def arrays(module: nn.Module) -> dict[str, np.ndarray]:
    """The state dict as numpy arrays."""
    return {name: tensor.detach().numpy() for name, tensor in module.state_dict().items()}


def heads(x: np.ndarray, num_heads: int) -> np.ndarray:
    """(N, H·D) → (N, H, D), head after head."""
    width = x.shape[1] // num_heads
    return np.stack([x[:, h * width : (h + 1) * width] for h in range(num_heads)], axis=1)


def state_of_heads(layer: nn.Module, order: Sequence[int]) -> dict[str, torch.Tensor]:
    """The state of a layer with these heads of an attention layer, in this order; what all heads share stays."""
    state, width = layer.state_dict(), layer.out_feats
    rows = [width * h + d for h in order for d in range(width)]
    common = {"scale"} if "scale" in state else set()
    common |= {f"{name}.{kind}" for name in ("query", "key") for kind in ("weight", "bias") if "mixing" in state}
    common |= {f"key.{kind}" for kind in ("weight", "bias") if "scale" in state}

    def part(name: str, tensor: torch.Tensor) -> torch.Tensor:
        if name in common:
            return tensor
        if name == "mixing":
            return tensor[list(order)]
        return tensor[:, list(order)] if name.startswith("attn") else tensor[rows]

    return {name: part(name, tensor) for name, tensor in state.items()}


def additive_scores(
    edges: Edges, z: np.ndarray, attn_l: np.ndarray, attn_r: np.ndarray, kappa: float | None = None
) -> np.ndarray:
    """Scores of GAT before the LeakyReLU, (E, H): raw, or of LipschitzNorm with this κ."""
    num_heads = z.shape[1]
    scores = np.zeros((len(edges), num_heads))
    for h in range(num_heads):
        size = math.sqrt(sum(a * a for a in [*attn_l[h], *attn_r[h]]))
        for e, (j, i) in enumerate(edges):
            scores[e, h] = attn_l[h] @ z[j, h] + attn_r[h] @ z[i, h]
            if kappa is not None:
                longest = max(z[k, h] @ z[k, h] for k, target in edges if target == i)
                divisor = kappa * size * math.sqrt(longest + z[i, h] @ z[i, h])
                scores[e, h] = scores[e, h] / divisor if divisor else 0.0
    return scores


def dot_scores(
    edges: Edges,
    query: np.ndarray,
    key: np.ndarray,
    value: np.ndarray,
    kappa: float | None = None,
    query_norm: str = "node",
    codes: np.ndarray | None = None,
) -> np.ndarray:
    """Scores of the Graph Transformer, (E, H): scaled dot products, or of LipschitzNorm with this κ.

    To the key of every edge its code is added, if codes (E, H, D) are given.
    """
    num_heads, width = query.shape[1:]
    key = [key[j] + (0.0 if codes is None else codes[e]) for e, (j, _) in enumerate(edges)]
    scores = np.zeros((len(edges), num_heads))
    for h in range(num_heads):
        for e, (_, i) in enumerate(edges):
            dot = query[i, h] @ key[e][h]
            if kappa is None:
                scores[e, h] = dot / math.sqrt(width)
                continue
            u = np.linalg.norm(query[i, h] if query_norm == "node" else query[:, h])
            v = max(np.linalg.norm(key[k][h]) for k, (_, target) in enumerate(edges) if target == i)
            w = max(np.linalg.norm(value[k, h]) for k, target in edges if target == i)
            divisor = kappa * max(u * v, u * w, v * w)
            scores[e, h] = dot / divisor if divisor else 0.0
    return scores


def shared_scores(
    edges: Edges,
    query: np.ndarray,
    key: np.ndarray,
    mixing: np.ndarray,
    value: np.ndarray,
    kappa: float | None = None,
    query_norm: str = "node",
    scale: float | None = None,
) -> np.ndarray:
    """Scores of heads that share queries and keys, (E, H), as those of queries √|m| q and keys ±√|m| k of every head.

    `scale` is 1/√D unless it is given, D being the width of the values.
    """
    half = np.sqrt(np.abs(mixing))
    query, key = query[:, None] * half, key[:, None] * np.sign(mixing) * half
    if kappa is not None:
        return dot_scores(edges, query, key, value, kappa, query_norm)
    scale = 1 / math.sqrt(value.shape[-1]) if scale is None else scale
    return dot_scores(edges, query, key, value) * math.sqrt(mixing.shape[-1]) * scale


def dynamic_scores(
    edges: Edges, key: np.ndarray, query: np.ndarray, attn: np.ndarray, kappa: float | None = None, slope: float = 0.2
) -> np.ndarray:
    """Scores of GATv2, (E, H): raw, or of LipschitzNorm with this κ."""
    num_heads = key.shape[1]
    scores = np.zeros((len(edges), num_heads))
    for h in range(num_heads):
        for e, (j, i) in enumerate(edges):
            for a, k, q in zip(attn[h], key[j, h], query[i, h], strict=True):
                scores[e, h] += a * (k + q if k + q > 0 else slope * (k + q))
            if kappa is not None:
                longest = max(key[k, h] @ key[k, h] for k, target in edges if target == i)
                divisor = kappa * math.sqrt(2 * (attn[h] @ attn[h]) * (longest + query[i, h] @ query[i, h]))
                scores[e, h] = scores[e, h] / divisor if divisor else 0.0
    return scores


def attend(edges: Edges, scores: np.ndarray, value: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Softmax over the in-edges of every node and head, then the weighted sum: (N, H, D) and (E, H)."""
    out = np.zeros_like(value)
    attention = np.zeros_like(scores)
    for i in range(len(value)):
        entering = [e for e, (_, target) in enumerate(edges) if target == i]
        for h in range(value.shape[1]):
            top = max((scores[e, h] for e in entering), default=0.0)
            total = sum(math.exp(scores[e, h] - top) for e in entering)
            for e in entering:
                attention[e, h] = math.exp(scores[e, h] - top) / total
                out[i, h] += attention[e, h] * value[edges[e][0], h]
    return out, attention


def certified_bound(edges: Edges, nodes: int, node_bound: Callable[[int], float]) -> float:
    """The largest, over nodes j, root of Σ L_i² over the edges j → i, and over i = j if j has no loop."""
    degree = [sum(target == i for _, target in edges) for i in range(nodes)]
    square = [node_bound(n) ** 2 if n else 0.0 for n in degree]
    totals = []
    for j in range(nodes):
        fed = [square[i] for source, i in edges if source == j]
        totals.append(sum(fed) + (0.0 if (j, j) in edges else square[j]))
    return math.sqrt(max(totals))


def jacobian(function: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor) -> torch.Tensor:
    """All derivatives of the flattened output by the flattened input, (outputs, inputs)."""
    rows = torch.autograd.functional.jacobian(function, x)
    return rows.reshape(-1, x.numel())


def spectral_norm(matrix: torch.Tensor | np.ndarray) -> float:
    """Largest singular value."""
    return float(np.linalg.norm(np.asarray(matrix), 2))


Attend = Callable[[dgl.DGLGraph, list[torch.Tensor]], torch.Tensor]


def check_tied(attend: Attend, inputs: list[torch.Tensor], form: str) -> None:
    """Assert that three sources of equal scores share the gradient of their target alike, however large the scores.

    Parameters
    ----------
    attend, inputs : as for `check_saturated`, of four nodes.
    """
    alike = {"dot_product": [1, 2], "shared_product": [1, 3]}.get(form, [0])
    for x in (inputs[number] for number in alike):
        x[:3] = x[0].clone()
    leaves = [x.clone().requires_grad_() for x in inputs]
    out = attend(build([(0, 3), (1, 3), (2, 3)], nodes=4), leaves)
    given = normal(99, *out.shape, dtype=out.dtype)
    of_values = torch.autograd.grad(out, leaves, given)[-1 if form.endswith("product") else 0]
    torch.testing.assert_close(of_values[:3], (given[3] / 3).expand(3, -1, -1), rtol=1e-6, atol=1e-6)


def check_saturated(attend: Attend, inputs: list[torch.Tensor], form: str) -> None:
    """Assert that attention with huge scores copies one source, whose value gets the whole gradient, and scores none.

    That none is a difference of numbers as large as the features, which rounding must not leave anything of: residual
    networks without bounded weights have such scores from some thirty layers on.

    Parameters
    ----------
    attend : without a norm, by z, a_l and a_r or key, query and a with the slope 0.2, or by query, key and value;
        where heads share the first two, their mixing comes before the values.
    inputs : of seven nodes; the first is huge.
    """
    edges = [((i + step) % 7, i) for step in (0, 1, 3) for i in range(7)]
    wide = [x.double().numpy() for x in inputs]
    if form == "additive":
        scores = additive_scores(edges, wide[0], wide[1][0], wide[2][0])
        scores = np.where(scores > 0, scores, 0.2 * scores)
    elif form == "dynamic":
        scores = dynamic_scores(edges, *wide[:2], wide[2][0])
    elif form == "shared_product":
        scores = shared_scores(edges, *wide)
    else:
        scores = dot_scores(edges, *wide)
    by_target = scores.reshape(3, 7, -1)
    best, second = np.sort(by_target, axis=0)[:0:-1]
    assert (best - second > 1e-3 * abs(best)).all(), "inputs without near ties"
    steps = np.array([0, 1, 3])[by_target.argmax(axis=0)]  # (7, H)
    sources, all_heads = (np.arange(7)[:, None] + steps) % 7, np.arange(scores.shape[1])
    leaves = [x.clone().requires_grad_() for x in inputs]
    out = attend(build(edges, nodes=7), leaves)
    given = normal(99, *out.shape, dtype=out.dtype)
    *gradients, last = torch.autograd.grad(out, leaves, given)
    of_values, of_scores = (last, gradients) if form.endswith("product") else (gradients[0], [gradients[1], last])
    value = inputs[-1 if form.endswith("product") else 0]
    torch.testing.assert_close(out.detach(), value[sources, all_heads], rtol=1e-6, atol=0)
    expected = np.zeros(value.shape)
    np.add.at(expected, (sources, all_heads), given.double().numpy())
    torch.testing.assert_close(of_values.double(), torch.from_numpy(expected), rtol=1e-6, atol=1e-6)
    for gradient in of_scores:
        assert gradient.abs().max() < 1e-12 * inputs[0].abs().max()
