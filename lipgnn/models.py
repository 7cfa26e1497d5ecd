"""The deep stack, written once for every kind of layer: encoder, L blocks, decoder."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from torch import nn

from lipgnn.blocks import Block, Branch, Gate
from lipgnn.catalog import (
    ATTENTION_MODELS,
    INITS,
    LINEAR_MODELS,
    MLPS,
    MODELS,
    NORM_PLACES,
    RESIDUALS,
    SKIPS,
    STACKS,
    SUMS,
    check_name,
    check_norm_fits,
    check_norm_place,
    check_parts_fit,
    check_stack_fits,
    parse_norm,
    parse_weight_norm,
)
from lipgnn.errors import UsageError
from lipgnn.flow import Graphs
from lipgnn.neighbors_match import is_trees
from lipgnn.nn import (
    FeatureLinear,
    GATConv,
    GCNConv,
    GGNNConv,
    GINConv,
    KeyValueEmbedding,
    Mlp,
    TransformerConv,
    bound_weights,
    initialize,
)
from lipgnn.norms import NearIdentity, feature_norm
from lipgnn.recompute import run_blocks, run_checkpointed
from lipgnn.reversible import ReversibleBlock, run_reversible
from lipgnn.runtime import dgl
from lipgnn.spec import RunSpec

ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {
    "elu": nn.ELU,
    "relu": nn.ReLU,
    "leaky-relu": lambda: nn.LeakyReLU(0.2),
    "gelu": nn.GELU,
    "tanh": nn.Tanh,
    "none": nn.Identity,
}
BASELINES = {"gcn": GCNConv, "gin": GINConv, "ggnn": GGNNConv}
ATTENTION = {"gat": GATConv, "gt": TransformerConv}


class DeepGNN(nn.Module):
    """Encoder (linear), `layers` blocks of one kind, decoder (linear): logits for every node.

    The network is W = heads · hidden wide throughout, whatever the kind of layer, so that kinds are compared
    at equal width. `dropout` acts before the encoder and before the decoder; `layer_dropout` before every layer, as
    papers on shallow networks have it, leaves little to learn from after ten of them.

    A layer of the reversible stack is two branches of half the width, each with all heads at half of `hidden`
    (see ReversibleBlock).

    Where the nodes of the input come as two numbers each, key and value, the encoder looks them up in tables, and the
    decoder has no bias (see KeyValueEmbedding).

    Parameters
    ----------
    in_feats, num_classes : widths of the input and of the output.
    model, layers, hidden, heads, norm, kappa, residual, alpha, beta, skip, mlp, norm_place, weight_norm, init,
        activation, dropout, layer_dropout, attn_dropout, kernel, stack : see RunSpec.
    lookup : whether the features are keys and values; `in_feats` is then the number of either.
    checkpoint_every : in training, keep the input of every k-th block only and compute the rest again (see
        run_checkpointed); 0 keeps all activations. May be changed at any time.
    """

    def __init__(
        self,
        in_feats: int,
        num_classes: int,
        *,
        model: str = "gat",
        layers: int = 10,
        hidden: int = 8,
        heads: int = 8,
        norm: str = "none",
        kappa: float = 4.0,
        residual: str = "none",
        alpha: float = 0.1,
        beta: float = 0.5,
        skip: str = "own",
        mlp: str = "none",
        norm_place: str = "branch",
        weight_norm: str = "none",
        init: str = "glorot",
        activation: str = "elu",
        dropout: float = 0.0,
        layer_dropout: float = 0.0,
        attn_dropout: float = 0.0,
        kernel: str = "auto",
        stack: str = "plain",
        lookup: bool = False,
        checkpoint_every: int = 0,
    ):
        super().__init__()
        for kind, name, valid in (
            ("model", model, MODELS),
            ("residual", residual, RESIDUALS),
            ("norm place", norm_place, NORM_PLACES),
            ("stack", stack, STACKS),
            ("skip", skip, SKIPS),
            ("mlp", mlp, MLPS),
            ("init", init, INITS),
        ):
            check_name(kind, name, valid)
        check_name("activation", activation, ACTIVATIONS)
        check_norm_fits(norm, model)
        check_parts_fit(model, weight_norm=weight_norm, residual=residual, skip=skip, init=init, mlp=mlp, stack=stack)
        check_stack_fits(stack, residual, hidden, checkpoint_every)
        check_norm_place(norm_place, stack)
        score, feature = parse_norm(norm)
        bound = parse_weight_norm(weight_norm)
        width = hidden * heads
        scale = layers**-0.5 if residual == "scaled" else 1.0
        placed = {"kernel": kernel, "norm_first": norm_place == "pre"}

        def norm_at(*places: str, width: int = width) -> nn.Module | None:
            return feature_norm(feature, width) if feature and norm_place in places else None

        def prepared(conv: nn.Module, layer: int) -> nn.Module:
            """Drawn, bounded, and for residual initial near the identity, as the layer of this number is."""
            maps = conv.maps if model in LINEAR_MODELS or isinstance(conv, Mlp) else []
            initialize(maps, init)
            if bound:
                bound_weights(maps, bound, layers)
            if residual == "initial" and not isinstance(conv, Mlp):
                conv.value_map.add(NearIdentity(math.log(beta / layer + 1)))
            return conv

        def parts(hidden: int, layer: int) -> tuple[nn.Module | None, ...]:
            width = hidden * heads
            if model in ATTENTION:
                own = {} if model == "gat" else {"skip": skip == "own"}
                conv = ATTENTION[model](
                    width, hidden, heads, attn_drop=attn_dropout, norm=score, kappa=kappa, kernel=kernel, **own
                )
            else:
                conv = BASELINES[model](width, width)
            norm = norm_at("branch", "pre", width=width)
            return nn.Dropout(layer_dropout), prepared(conv, layer), norm, ACTIVATIONS[activation]()

        def mlp_block(layer: int) -> Block:
            conv = prepared(Mlp(width, 2 * width, ACTIVATIONS[activation]()), layer)
            own = nn.Dropout(layer_dropout), conv, norm_at("branch", "pre"), nn.Identity()
            # Where the layer keeps its input in some other way, a plain sum does for its MLP.
            adds = residual if residual in (*SUMS, "none") else "identity"
            return Block(*own, **placed, residual=adds, scale=scale, sum_norm=norm_at("sum"))

        def block(layer: int) -> nn.Module:
            if stack == "reversible":
                f, g = (Branch(*parts(hidden // 2, layer), **placed) for _ in range(2))
                return ReversibleBlock(f, g, scale=scale)
            return Block(
                *parts(hidden, layer),
                **placed,
                residual=residual,
                scale=scale,
                sum_norm=norm_at("sum"),
                gate=Gate(width, layers) if residual == "gated" else None,
                alpha=alpha if residual == "initial" else 0.0,
                mlp=mlp_block(layer) if mlp != "none" else None,
            )

        if lookup:
            self.encoder = KeyValueEmbedding(in_feats, hidden * heads, dropout)
        else:
            self.encoder = FeatureLinear(in_feats, hidden * heads, dropout, kernel)
        self.blocks = nn.ModuleList(block(layer) for layer in range(1, layers + 1))
        self.dropout = nn.Dropout(dropout)
        self.decoder = nn.Linear(hidden * heads, num_classes, bias=not lookup)
        self.has_attention = model in ATTENTION_MODELS
        self.reversible = stack == "reversible"
        self.needs_start = residual == "initial"
        self.checkpoint_every = checkpoint_every
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
            model=spec.model,
            layers=spec.layers,
            hidden=spec.hidden,
            heads=spec.heads,
            norm=spec.norm,
            kappa=spec.kappa,
            residual=spec.residual,
            alpha=spec.alpha,
            beta=spec.beta,
            skip=spec.skip,
            mlp=spec.mlp,
            norm_place=spec.norm_place,
            weight_norm=spec.weight_norm,
            init=spec.init,
            activation=spec.activation,
            dropout=spec.dropout,
            layer_dropout=spec.layer_dropout,
            attn_dropout=spec.attn_dropout,
            kernel=spec.kernel,
            stack=spec.stack,
            lookup=is_trees(spec.dataset),
            checkpoint_every=0 if spec.checkpoint_every == "auto" else int(spec.checkpoint_every),
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
        if self.checkpoint_every and self.training:
            return run_checkpointed(blocks, graph, x, self.checkpoint_every, start)
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
