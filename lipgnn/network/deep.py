"""The deep stack, written once for every kind of layer: encoder, L blocks, decoder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import torch
from torch import nn

from lipgnn.catalog import ATTENTION_MODELS
from lipgnn.errors import UsageError
from lipgnn.network.build import Architecture
from lipgnn.network.hops import Graphs
from lipgnn.network.recompute import run_blocks, run_recomputing
from lipgnn.network.reversible import run_reversible
from lipgnn.nn import FeatureLinear, KeyValueEmbedding
from lipgnn.runtime import dgl
from lipgnn.spec.rules import check_recomputation
from lipgnn.spec.run import RunSpec
from lipgnn.tasks.neighbors_match import is_trees


class DeepGNN(nn.Module):
    """Encoder (linear), `layers` blocks of one kind, decoder (linear): logits for every node.

    `dropout` acts before the encoder and before the decoder; `layer_dropout` before every layer, as papers on shallow
    networks have it, leaves little to learn from after ten of them.

    Where the nodes of the input come as two numbers each, key and value, the encoder looks them up in tables, and the
    decoder has no bias (see KeyValueEmbedding).

    Parameters
    ----------
    in_feats, num_classes : widths of the input and of the output.
    dropout : before the encoder and before the decoder.
    lookup : whether the features are keys and values; `in_feats` is then the number of either.
    recompute_every : in training, keep the input of every k-th block only and compute the rest again (see
        run_recomputing); 0 keeps all activations. May be changed at any time.
    options : of the layers, see Architecture.
    """

    def __init__(
        self,
        in_feats: int,
        num_classes: int,
        *,
        dropout: float = 0.0,
        lookup: bool = False,
        recompute_every: int = 0,
        **options: Any,
    ):
        super().__init__()
        layout = Architecture(**options)
        check_recomputation(layout.stack, recompute_every)
        if lookup:
            self.encoder = KeyValueEmbedding(in_feats, layout.width, dropout)
        else:
            self.encoder = FeatureLinear(in_feats, layout.width, dropout, layout.kernel)
        self.blocks = nn.ModuleList(layout.block(layer) for layer in range(1, layout.layers + 1))
        self.dropout = nn.Dropout(dropout)
        self.decoder = nn.Linear(layout.width, num_classes, bias=not lookup)
        self.has_attention = layout.model in ATTENTION_MODELS
        self.reversible = layout.stack == "reversible"
        self.needs_start = layout.residual == "initial"
        self.recompute_every = recompute_every
        for linear in (self.encoder, self.decoder):
            if isinstance(linear, nn.Linear):
                nn.init.xavier_uniform_(linear.weight)
                if linear.bias is not None:
                    nn.init.zeros_(linear.bias)

    @classmethod
    def from_spec(cls, spec: RunSpec, in_feats: int, num_classes: int) -> DeepGNN:
        """The network of a run, in its floating-point type, on the CPU; "auto" keeps all activations."""
        network = cls(
            in_feats,
            num_classes,
            dropout=spec.dropout,
            lookup=is_trees(spec.dataset),
            recompute_every=0 if spec.recompute_every == "auto" else int(spec.recompute_every),
            **asdict(Architecture.of(spec)),
        )
        return network.to(getattr(torch, spec.dtype))

    def forward(self, graph: Graphs, x: torch.Tensor) -> torch.Tensor:
        """Features (N, F) → logits (N, C), of the targets of the last hop where there is one for every layer."""
        return self.decoder(self.dropout(self.run(self.blocks, graph, self.encoder(x))))

    def run(
        self, blocks: Sequence[nn.Module], graph: Graphs, x: torch.Tensor, start: torch.Tensor | None = None
    ) -> torch.Tensor:
        """Some blocks of this network one after the other, with the activations kept that it keeps.

        Parameters
        ----------
        x : the input of the first of them, (N, W).
        start : the output of the encoder; x itself where they are the first of the network.
        """
        start = (x if start is None else start) if self.needs_start else None
        if not torch.is_grad_enabled():
            return run_blocks(blocks, graph, x, start)
        if self.reversible:
            return run_reversible(blocks, graph, x)
        if self.recompute_every and self.training:
            return run_recomputing(blocks, graph, x, self.recompute_every, start)
        return run_blocks(blocks, graph, x, start)

    @torch.no_grad()
    def attention(self, graph: dgl.DGLGraph, x: torch.Tensor) -> list[torch.Tensor]:
        """Attention weights of every layer, (E, H) each; after dropout where the network is in training.

        A layer of the reversible stack has those of its two branches side by side, (E, 2H).

        Raises
        ------
        UsageError : the layers of this network have no attention.
        """
        if not self.has_attention:
            raise UsageError("The layers of this network have no attention weights.")
        weights = []
        x = start = self.encoder(x)
        for block in self.blocks:
            weights.append(block.attention(graph, x))
            x = self.run([block], graph, x, start)
        return weights
