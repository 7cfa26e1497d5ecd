"""The deep stack, written once for every kind of layer: encoder, L blocks, decoder."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

import torch
from torch import nn

from lipgnn.catalog import SUMS, TORCH_INITS
from lipgnn.errors import UsageError
from lipgnn.network.build import Builder
from lipgnn.network.edge_dropout import EdgeDropout
from lipgnn.network.hops import Graphs
from lipgnn.network.jumps import join
from lipgnn.network.recompute import run_blocks, run_each, run_recomputing
from lipgnn.network.reversible import run_reversible
from lipgnn.nn import DenseFeatures, FeatureLinear
from lipgnn.nn.activations import ACTIVATIONS
from lipgnn.nn.balanced import balance_ends
from lipgnn.nn.contract import attention_of, keeps_statistics
from lipgnn.nn.dropout import FeatureDropout
from lipgnn.runtime import dgl
from lipgnn.spec.network import NetworkSpec

MakeEnd = Callable[[NetworkSpec, int], nn.Module]
"""What makes an end of a network, from its specification and the width of the input or of the output."""


def feature_encoder(spec: NetworkSpec, in_feats: int) -> nn.Module:
    """Dropout and a linear map of the features, sparse or dense; or nothing but these."""
    if spec.encoder == "none":
        return DenseFeatures()
    return FeatureLinear(in_feats, spec.width, spec.input_dropout, spec.kernel)


def linear_head(spec: NetworkSpec, num_classes: int) -> nn.Module:
    """A linear map to the logits."""
    return nn.Linear(spec.decoder_width, num_classes)


def unbiased_head(spec: NetworkSpec, num_classes: int) -> nn.Module:
    """The same without a bias."""
    return nn.Linear(spec.decoder_width, num_classes, bias=False)


def linear_map(spec: NetworkSpec, in_feats: int, num_classes: int) -> nn.Module:
    """Dropout and a linear map of the features to the logits, all that a network of no layers is."""
    return FeatureLinear(in_feats, num_classes, spec.input_dropout, spec.kernel, bias=spec.bias == "layers")


class DeepGNN(nn.Module):
    """Encoder, `layers` blocks of one kind, decoder: logits for every node.

        x⁰ = σ_enc(encoder(x)),   x^ℓ = block_ℓ(x^{ℓ−1}),   logits = decoder(join(x¹ … x^L))

    with the last layer's output alone for the join unless `jk` says otherwise. `dropout` acts before the encoder and
    before the decoder; `layer_dropout` acts before every layer. Where dropout begins with the layers, none acts before
    the first. Without an encoder x⁰ is x, (N, F), and the first block leads from F to W; before it `layer_dropout` acts
    alone. Of no layers it is one linear map, logits = decoder(x): logistic regression, with a constant where
    `bias` is layers.

    Parameters
    ----------
    spec : what the network is, checked when it was made.
    in_feats, num_classes : widths of the input and of the output.
    edge_types : how many types of edges the graphs have, a fact of the data; 0 where they have none.
    encoder, head : what makes the two ends, from the specification and the width of the input or of the output.
    blocks : where they are not those that the specification describes.

    Attributes
    ----------
    recompute_every : in training, the input of every k-th block only is kept and the rest is computed again (see
        run_recomputing); 0 keeps all activations, as "auto" does until it is settled. May be changed at any time.
    """

    def __init__(
        self,
        spec: NetworkSpec,
        in_feats: int,
        num_classes: int,
        *,
        edge_types: int = 0,
        encoder: MakeEnd = feature_encoder,
        head: MakeEnd = linear_head,
        blocks: Iterable[nn.Module] | None = None,
    ):
        super().__init__()
        self.encoder = encoder(spec, in_feats) if spec.layers else nn.Identity()
        self.encoder_activation = ACTIVATIONS[spec.encoder_activation]() if spec.layers else nn.Identity()
        self.edge_dropout = EdgeDropout(spec.edge_dropout)
        if blocks is None:
            builder = Builder(spec, edge_types, in_feats if self.bare else None)
            blocks = (builder.block(layer) for layer in range(1, spec.layers + 1))
        self.blocks = nn.ModuleList(blocks)
        self.dropout = FeatureDropout(spec.dropout, spec.kernel) if spec.layers else nn.Identity()
        self.decoder = head(spec, num_classes) if spec.layers else linear_map(spec, in_feats, num_classes)
        self.has_attention = any(attention_of(part) for block in self.blocks[:1] for part in block.parts)
        self.reversible = spec.stack == "reversible"
        self.jk = spec.jk
        self.needs_start = spec.residual == "initial"
        self.recompute_every = spec.recomputed_blocks
        for linear in (self.encoder, self.decoder):
            if isinstance(linear, nn.Linear) and spec.init not in TORCH_INITS:
                nn.init.xavier_uniform_(linear.weight)
                if linear.bias is not None:
                    nn.init.zeros_(linear.bias)
        if spec.init == "balanced":
            self._balance_ends(spec)

    def _balance_ends(self, spec: NetworkSpec) -> None:
        if not isinstance(self.encoder, nn.Linear):
            raise UsageError(
                "--init balanced draws a linear encoder, and the data of this network needs another.",
                "Use --init glorot.",
            )
        balance_ends(self.encoder, self.decoder, spec.heads, summed=spec.residual in SUMS)

    @property
    def bare(self) -> bool:
        """Whether it has no encoder, so that the first block is given the features themselves."""
        return isinstance(self.encoder, DenseFeatures)

    @property
    def differs_in_training(self) -> bool:
        """Whether any part of it drops something, or keeps statistics of batches, or does not say."""
        drops = any(isinstance(module, nn.modules.dropout._DropoutNd) and module.p > 0 for module in self.modules())
        return drops or any(keeps_statistics(part) for block in self.blocks for part in block.parts)

    def forward(self, graph: Graphs, x: torch.Tensor) -> torch.Tensor:
        """Features (N, F) → logits (N, C), of the targets of the last hop where there is one for every layer."""
        return self.decode(graph, self.body(self.edge_dropout(self.layer_graph(graph)), self.encode(x)))

    def layer_graph(self, graph: Graphs) -> Graphs:
        """What of a graph the layers are given: all of it, unless the head needs more than they do."""
        return graph

    def decode(self, graph: Graphs, h: torch.Tensor) -> torch.Tensor:
        """What the body gives → logits (N, C)."""
        return self.decoder(self.dropout(h))

    def encode(self, x: torch.Tensor) -> torch.Tensor:
        """Features (N, F) → what the first block is given, (N, W), or (N, F) without an encoder."""
        return self.encoder_activation(self.encoder(x))

    def body(self, graph: Graphs, x: torch.Tensor) -> torch.Tensor:
        """What the first block is given → what the decoder is given, (N, W), or (N, L·W) with jk concat."""
        if self.jk == "none":
            return self.run(self.blocks, graph, x)
        recompute = self.recompute_every > 0 and self.training and torch.is_grad_enabled()
        start = x if self.needs_start else None
        return join(run_each(self.blocks, graph, x, start, recompute=recompute), self.jk)

    @property
    def hops(self) -> int:
        """How many edges away a node can be that has a part in another's output, where all layers are local."""
        # A reversible block is two layers, one behind the other.
        return len(self.blocks) * (2 if self.reversible else 1)

    def from_encoder(self, graph: dgl.DGLGraph, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """What the first block is given, as `encode` gives it, and the logits (N, C) by it, for many ways back.

        Of about √L blocks the input is kept and of the others nothing, whatever the network does in training; of a
        reversible stack the blocks are taken as they are, because their inverses have rounding errors.
        """
        x = self.encode(x).detach().requires_grad_()
        blocks, start = list(self.blocks), x if self.needs_start else None
        if self.jk != "none":
            return x, self.decoder(join(run_each(blocks, graph, x, start, recompute=True), self.jk))
        return x, self.decoder(run_recomputing(blocks, graph, x, math.isqrt(len(blocks)), start))

    def run(
        self, blocks: Sequence[nn.Module], graph: Graphs, x: torch.Tensor, start: torch.Tensor | None = None
    ) -> torch.Tensor:
        """Some blocks of this network one after the other, with the activations kept that it keeps.

        Parameters
        ----------
        x : the input of the first of them, (N, W); of the first of the network what `encode` gives.
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
        graph = self.layer_graph(graph)
        x = start = self.encode(x)
        for block in self.blocks:
            weights.append(block.attention(graph, x))
            x = self.run([block], graph, x, start)
        return weights
