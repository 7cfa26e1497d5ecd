"""The outputs for all items, of which every worker computes its share."""

from __future__ import annotations

import torch

from lipgnn.network.deep import DeepGNN
from lipgnn.network.jumps import join
from lipgnn.nn.contract import acts_alike, is_local
from lipgnn.norms import BatchNorm
from lipgnn.tasks.batches import Batches
from lipgnn.tasks.batches.sampled import SampledNodes, rows_of
from lipgnn.training.distributed.team import Team


@torch.no_grad()
def divided_logits(network: DeepGNN, batches: Batches, team: Team) -> torch.Tensor:
    """The output for all items in order, (N, C), for all workers.

    Batches are divided among workers, and so are the nodes of a whole graph, in every layer, where what becomes of a
    node depends on its in-neighbours alone. Where it does not, worker 0 computes all.

    Parameters
    ----------
    network : in evaluation mode.
    """
    if isinstance(batches, SampledNodes):
        return _of_graph(network, batches, team)
    own = [batch.of_items(network(batch.graph, batch.features)) for batch in batches.everything()]
    return team.rows(torch.cat(own) if own else batches.labels.new_empty(0, 0, dtype=_dtype(network)))


def _of_graph(network: DeepGNN, batches: SampledNodes, team: Team) -> torch.Tensor:
    if not all(map(_along_edges, network.blocks)):
        whole = batches.whole()
        own = network(whole.graph, whole.features) if team.leads else _nothing(network, whole.features)
        return team.rows(own)
    hop = batches.own_layer
    start = x = team.rows(network.encode(rows_of(batches.features, hop.rows[: hop.targets])))
    outputs = []
    for number, block in enumerate(network.blocks, start=1):
        own = network.run([block], [hop], x, start)
        outputs = [*outputs, own] if network.jk != "none" else [own]
        if number < len(network.blocks):
            x = team.rows(own)
    return team.rows(network.decode(hop, join(outputs, network.jk)))


def _along_edges(block: torch.nn.Module) -> bool:
    """Whether a block, in evaluation, makes of a node something of its in-neighbours alone."""
    return acts_alike(block.conv) and all(is_local(part) or type(part) is BatchNorm for part in block.parts)


def _nothing(network: DeepGNN, like: torch.Tensor) -> torch.Tensor:
    return torch.empty(0, 0, dtype=_dtype(network), device=like.device)


def _dtype(network: DeepGNN) -> torch.dtype:
    return next(network.parameters()).dtype
