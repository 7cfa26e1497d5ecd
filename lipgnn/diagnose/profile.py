"""A network layer by layer: one forward and one backward of the training loss, reduced to numbers on the way.

Row ℓ of a profile is about X^(ℓ), the output of layer ℓ (row 0: of the encoder, or the features where there is none),
and G^(ℓ) = ∂L/∂X^(ℓ). Nothing is dropped out, so the same network has the same profile. Hooks keep numbers alone, never
features, gradients or attention.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import nn

from lipgnn.catalog import SUMS
from lipgnn.certify import empirical_bounds, layer_bounds
from lipgnn.diagnose.data import WholeData
from lipgnn.measures import features as measures
from lipgnn.measures.walk import component_count, components, second_eigenvalue
from lipgnn.network.deep import DeepGNN
from lipgnn.network.jumps import join
from lipgnn.network.recompute import run_each
from lipgnn.network.reversible import ReversibleBlock
from lipgnn.nn.contract import acts_alike, attended, is_local, shown
from lipgnn.runtime import dgl

# What takes as long as the layer itself is measured in so many layers, spread evenly, and attention at so many nodes,
# or at a few more; where there are fewer, in all.
CLOSE_LAYERS = 8
SAMPLE = 256

# Of one row, in the order in which they are shown:
# of G^(ℓ) its length, its similarity μ, μ over length, and the length of the gradient of the layer's matrices;
# of X^(ℓ) the same three, Dirichlet energy, mean average distance, effective and numerical rank, the residual r_ℓ to
# one row a component, and r_ℓ / r_(ℓ−1);
# of layer ℓ the share of its skip, N(x) / (N(x) + N(what it adds)) in the composite norm, the entropy of its attention
# and the share of nodes where that is saturated, and how much it can stretch, certified and found.
COLUMNS = (
    "layer",
    "grad_norm",
    "grad_mu",
    "grad_ratio",
    "weight_grad",
    "feat_norm",
    "feat_mu",
    "feat_ratio",
    "dirichlet",
    "mad",
    "effective_rank",
    "rank",
    "rank1_residual",
    "contraction",
    "skip_share",
    "entropy",
    "saturated",
    "bound",
    "empirical",
)

LayerNumbers = dict[str, Any]


@dataclass(frozen=True)
class Profile:
    """What is found in a network.

    Attributes
    ----------
    layers : L + 1 rows with the keys of COLUMNS; None where a number is not finite, or was not measured.
    loss : that of the training; None if it is not finite.
    accuracy : the metric on every part of the split.
    components : how many connected components the graph has.
    second_eigenvalue : λ₂ of the uniform walk on the largest of them.
    unbounded : why the first layer without a certified bound has none; None if all have one.
    """

    layers: list[LayerNumbers]
    loss: float | None
    accuracy: dict[str, float | None]
    components: int
    second_eigenvalue: float | None
    unbounded: str | None


def profile(network: DeepGNN, data: WholeData, *, certify: bool = False, every_layer: bool = False) -> Profile:
    """Look at a network, which is left as it was but for its mode (evaluation) and without gradients.

    Parameters
    ----------
    certify : also find how much every layer stretches the worst small change of its input, which takes long.
    every_layer : measure energy, distance, ranks and attention in all layers of a deep network, not in some.
    """
    network.eval()
    watch = _Watch(network, data, step=1 if every_layer else math.ceil(len(network.blocks) / CLOSE_LAYERS))
    try:
        x = network.encode(data.features)
        # The blocks themselves, whatever the network would do to save memory: a reversible stack shows no layer.
        outputs = run_each(network.blocks, data.graph, x, x if network.needs_start else None)
        logits = network.decoder(join(outputs, network.jk))
        loss = data.loss(logits)
        loss.backward()
        rows = watch.rows()
    finally:
        watch.remove()
        network.zero_grad(set_to_none=True)
    bounds = layer_bounds(network, data.graph)
    found = empirical_bounds(network, data.graph, data.features) if certify else [None] * len(bounds)
    for row, bound, empirical in zip(rows[1:], bounds, found, strict=True):
        row |= {"bound": _number(bound.value), "empirical": _number(empirical)}
    return Profile(
        rows,
        _number(loss.item()),
        data.accuracy(logits.detach()),
        component_count(data.graph),
        second_eigenvalue(data.graph),
        next((bound.reason for bound in bounds if bound.reason), None),
    )


class _Watch:
    """Hooks on all blocks of a network that reduce what passes to numbers; at every `step`-th layer to more of them."""

    def __init__(self, network: DeepGNN, data: WholeData, *, step: int):
        self._network = network
        self._close = {*range(0, len(network.blocks), step), len(network.blocks)}
        self._graph = data.graph
        self._components = components(data.graph)
        self._sample = _Sample.of(data.graph)
        # Tensors of no dimension: a GPU is not waited for in every layer.
        self._found: list[dict[str, torch.Tensor]] = [{} for _ in range(len(network.blocks) + 1)]
        self._handles = [
            block.register_forward_hook(functools.partial(self._after_block, layer))
            for layer, block in enumerate(network.blocks, start=1)
        ]

    def remove(self) -> None:
        """Take the hooks off the network."""
        for handle in self._handles:
            handle.remove()

    def rows(self) -> list[LayerNumbers]:
        """The numbers of all layers, after the way back."""
        for found, block in zip(self._found[1:], self._network.blocks, strict=True):
            gradients = [p.grad.flatten() for p in block.parameters() if p.dim() == 2 and p.grad is not None]
            if gradients:
                found["weight_grad"] = measures.length(torch.cat(gradients))
        rows = [_finished(layer, found) for layer, found in enumerate(self._found)]
        for before, row in pairwise(rows):
            row["contraction"] = _ratio(row["rank1_residual"], before["rank1_residual"])
        return rows

    @torch.no_grad()
    def _after_block(self, layer: int, block: nn.Module, arguments: tuple[Any, ...], y: torch.Tensor) -> None:
        x = arguments[1]
        if layer == 1:
            self._look_at(0, x)
        self._look_at(layer, y, getattr(block, "conv", None))
        found = self._found[layer]
        if getattr(block, "residual", None) in SUMS and block.sum_norm is None and block.mlp is None:
            kept, added = self._found[layer - 1]["size"], measures.rows_of(y.detach(), less=x.detach()).size
            found["skip_share"] = kept / (kept + added)
        if self._network.has_attention and layer in self._close:
            graph = self._graph
            if _acts_along_edges(block):
                graph, x = self._sample.graph, x[self._sample.nodes]
            spread = block.spread(graph, x)
            edges = attended(block.parts, graph)
            found["entropy"] = measures.attention_entropy(edges, spread)
            found["saturated"] = measures.saturated(edges, spread)

    def _look_at(self, layer: int, x: torch.Tensor, conv: nn.Module | None = None) -> None:
        """Features now, their gradient when it comes; what the layer shows of them."""
        x.register_hook(lambda gradient: self._after_gradient(layer, shown(conv, gradient)))
        x = shown(conv, x.detach())
        rows = measures.rows_of(x, self._components)
        self._found[layer] |= {
            "feat_norm": rows.length,
            "feat_mu": rows.similarity,
            "rank1_residual": rows.rest / rows.size,
            "size": rows.size,
        }
        if layer in self._close:
            energy, distance = measures.smoothness(self._graph, x)
            values = measures.singular_values(x)
            self._found[layer] |= {
                "dirichlet": energy,
                "mad": distance,
                "effective_rank": measures.effective_rank(values),
                "rank": measures.numerical_rank(values, x),
            }

    @torch.no_grad()
    def _after_gradient(self, layer: int, gradient: torch.Tensor) -> None:
        rows = measures.rows_of(gradient)
        self._found[layer] |= {"grad_norm": rows.length, "grad_mu": rows.similarity}


@dataclass(frozen=True, eq=False)
class _Sample:
    """Some nodes with all their in-edges: attention is asked for on these alone, which takes a tenth of the time.

    Attributes
    ----------
    graph : of the nodes and of their sources; those have a self-loop and nothing else, and with a single in-edge they
        count for no measurement.
    nodes : which of the whole graph its nodes are.
    """

    graph: dgl.DGLGraph
    nodes: torch.Tensor

    @classmethod
    def of(cls, whole: dgl.DGLGraph) -> _Sample:
        count = whole.num_nodes()
        chosen = torch.arange(0, count, max(1, count // SAMPLE), device=whole.device)
        sources, targets = whole.in_edges(chosen)
        nodes, ends = torch.cat([chosen, sources, targets]).unique(return_inverse=True)
        chosen, sources, targets = ends.split([len(chosen), len(sources), len(targets)])
        others = torch.ones(len(nodes), dtype=torch.bool, device=whole.device)
        others[chosen] = False
        loops = others.nonzero().flatten()
        graph = dgl.graph((torch.cat([sources, loops]), torch.cat([targets, loops])), num_nodes=len(nodes))
        return cls(graph, nodes)


def _acts_along_edges(block: nn.Module) -> bool:
    """Whether the attention of a node depends on the input of its in-neighbours alone, as far as all parts say so.

    That of a reversible block's second branch depends on the output of the first.
    """
    if isinstance(block, ReversibleBlock):
        return False
    return acts_alike(block.conv) and is_local(block.norm if block.norm_first else None)


def _finished(layer: int, found: dict[str, torch.Tensor]) -> LayerNumbers:
    numbers = {name: _number(value.item()) for name, value in found.items()}
    for kind in ("grad", "feat"):
        numbers[f"{kind}_ratio"] = _ratio(numbers.get(f"{kind}_mu"), numbers.get(f"{kind}_norm"))
    if numbers.get("rank") is not None:
        numbers["rank"] = int(numbers["rank"])
    return {name: numbers.get(name) for name in COLUMNS} | {"layer": layer}


def _ratio(above: float | None, below: float | None) -> float | None:
    return above / below if above is not None and below else None


def _number(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
