"""What compression does to a model on data: its scores, its size, and the logits of its attention."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace

import torch
from torch import nn

from lipgnn.compress.compression import Compression, LayerFacts, score_weights
from lipgnn.evaluate import evaluate
from lipgnn.tasks import TaskData, find_task
from lipgnn.tasks.saved import SavedModel


@dataclass(frozen=True)
class Standing:
    """A model by its size and its scores.

    Attributes
    ----------
    shared_dim : the width of its shared queries and keys; None where every head has its own, 0 where there are none.
    parameters, query_key_parameters : all of its weights, and those that attention scores are made of.
    metric, scores : the metric, and its value on train, val and test.
    """

    shared_dim: int | None
    parameters: int
    query_key_parameters: int
    metric: str
    scores: dict[str, float | None]


@dataclass(frozen=True)
class Effect:
    """What a compression does on data.

    Attributes
    ----------
    standing : of the compressed model.
    layers : what became of each layer.
    logit_changes : of every layer, the largest change of a logit (see `logit_changes`).
    """

    standing: Standing
    layers: list[LayerFacts]
    logit_changes: list[float]


def standing_of(saved: SavedModel, data: TaskData, device: torch.device, shared_dim: int | None = None) -> Standing:
    """A model on data; the network goes to the device."""
    found = evaluate(saved, data, device)
    everything, of_scores = saved.network.parameters(), score_weights(saved.network).values()
    sizes = (sum(weight.numel() for weight in weights) for weights in (everything, of_scores))
    return Standing(shared_dim, *sizes, found.metric, found.accuracy)


def uniform_standing(saved: SavedModel, data: TaskData, device: torch.device) -> Standing:
    """The model with the same attention for all neighbours: what it would be without its queries and keys.

    Where it scores as well as the model does, a compression that loses nothing has shown nothing.
    """
    network = copy.deepcopy(saved.network)
    for name, weight in score_weights(network).items():
        if "query" in name.split("."):
            nn.init.zeros_(weight)
    found = standing_of(replace(saved, network=network), data, device, shared_dim=0)
    return replace(found, parameters=found.parameters - found.query_key_parameters, query_key_parameters=0)


def effect_of(before: SavedModel, compression: Compression, data: TaskData, device: torch.device) -> Effect:
    """A compression on data, beside the model that it was made from."""
    standing = standing_of(compression.model, data, device, compression.shared_dim)
    changes = logit_changes(before, compression.model, data, device)
    return Effect(standing, compression.layers, changes)


@torch.no_grad()
def logit_changes(before: SavedModel, after: SavedModel, data: TaskData, device: torch.device) -> list[float]:
    """max |Δ log α_ij| of every layer over its heads and the edges of the data; of many graphs, a batch is looked at.

    log α is the score of an edge but for what the softmax takes off all edges of a node. Every layer is given what it
    is given in the first model, so that a number is the layer's own. In a reversible stack there is one for each
    branch, and what the second is given depends on the first.
    """
    old, new = (saved.network.to(device).eval() for saved in (before, after))
    batch = find_task(data.task).batches(before.spec, data, device).whole()
    graph = old.layer_graph(batch.graph)
    x = start = old.encode(batch.features)
    changes = []
    for own, compressed in zip(old.blocks, new.blocks, strict=True):
        change = (_logits(own, graph, x) - _logits(compressed, graph, x)).abs()  # (E, H), of two branches (E, 2H)
        changes += [part.amax().item() if part.numel() else 0.0 for part in change.chunk(1 + old.reversible, dim=1)]
        x = old.run([own], graph, x, start)
    return changes


def _logits(block: nn.Module, graph: object, x: torch.Tensor) -> torch.Tensor:
    weights = block.attention(graph, x)
    return weights.clamp(min=torch.finfo(weights.dtype).tiny).log()
