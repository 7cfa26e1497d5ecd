"""The deep stack, written once for every kind of layer: encoder, L blocks, decoder."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import nn

from lipgnn.catalog import (
    ATTENTION_MODELS,
    MODELS,
    NORM_PLACES,
    RESIDUALS,
    STACKS,
    check_name,
    check_norm_fits,
    check_norm_place,
    check_stack_fits,
    parse_norm,
)
from lipgnn.errors import UsageError
from lipgnn.flow import Graphs, Hop, convolve, targets_of
from lipgnn.kernels import add_activated
from lipgnn.neighbors_match import is_trees
from lipgnn.nn import FeatureLinear, GATConv, GCNConv, GGNNConv, GINConv, KeyValueEmbedding, TransformerConv
from lipgnn.norms import feature_norm
from lipgnn.recompute import run_blocks, run_checkpointed
from lipgnn.reversible import ReversibleBlock, run_reversible
from lipgnn.runtime import dgl
from lipgnn.spec import RunSpec

ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {
    "elu": nn.ELU,
    "relu": nn.ReLU,
    "tanh": nn.Tanh,
    "none": nn.Identity,
}
BASELINES = {"gcn": GCNConv, "gin": GINConv, "ggnn": GGNNConv}
ATTENTION = {"gat": GATConv, "gt": TransformerConv}


class Branch(nn.Module):
    """What a layer computes before anything is added to it: x ← σ(norm(conv(dropout(x)))).

    On a hop, whose targets are some of its nodes, the rows of all go in and those of the targets come out; norms over
    nodes are then over the targets.

    Parameters
    ----------
    kernel : that of the attention; a fused one comes with a fused end of the block.
    """

    def __init__(
        self, dropout: nn.Module, conv: nn.Module, norm: nn.Module | None, activation: nn.Module, *, kernel: str
    ):
        super().__init__()
        self.dropout = dropout
        self.conv = conv
        self.norm = norm
        self.activation = activation
        self.kernel = kernel

    def forward(self, graph: dgl.DGLGraph | Hop, x: torch.Tensor) -> torch.Tensor:
        """(N, W) → (N, W)."""
        return add_activated(None, self.activation, self.linear(graph, x), 1.0, self.kernel)

    def linear(self, graph: dgl.DGLGraph | Hop, x: torch.Tensor) -> torch.Tensor:
        """norm(conv(dropout(x))), what comes before the activation."""
        y = convolve(self.conv, graph, self.dropout(x)).flatten(1)
        return y if self.norm is None else self.norm(graph, y)

    def attention(self, graph: dgl.DGLGraph, x: torch.Tensor) -> torch.Tensor:
        """Attention weights, (E, H)."""
        return self.conv(graph, self.dropout(x), get_attention=True)[1].squeeze(-1)


class Block(Branch):
    """One layer of the plain stack: the branch F(x) = σ(norm(conv(dropout(x)))) and its residual connection.

        none:      x ← F(x)
        identity:  x ← x + F(x)
        scaled:    x ← x + F(x) / √L

    With the factor 1/√L the sum of L layers starts, and stays, of the size of one; it lets one learning rate
    serve all depths (Hayou et al., "Stable ResNet", AISTATS 2021).

    Parameters
    ----------
    parts, kernel : of the branch.
    residual : whether x is added.
    scale : the factor of F(x) where x is added.
    sum_norm : a norm that acts after all that instead of within the branch, x ← norm(x + σ(conv(dropout(x)))).
    """

    def __init__(
        self,
        *parts: nn.Module | None,
        kernel: str,
        residual: bool,
        scale: float,
        sum_norm: nn.Module | None = None,
    ):
        super().__init__(*parts, kernel=kernel)
        self.residual = residual
        self.scale = scale
        self.sum_norm = sum_norm

    def forward(self, graph: dgl.DGLGraph | Hop, x: torch.Tensor) -> torch.Tensor:
        """(N, W) → (N, W)."""
        if self.residual:
            kept = targets_of(graph, x)
            x = add_activated(kept, self.activation, self.linear(graph, x), self.scale, self.kernel)
        else:
            x = super().forward(graph, x)
        return x if self.sum_norm is None else self.sum_norm(graph, x)

    def extra_repr(self) -> str:
        return f"residual={self.residual}, scale={self.scale:.4g}"


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
    model, layers, hidden, heads, norm, kappa, residual, norm_place, activation, dropout, layer_dropout, attn_dropout,
        kernel, stack : see RunSpec.
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
        norm_place: str = "branch",
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
        ):
            check_name(kind, name, valid)
        check_name("activation", activation, ACTIVATIONS)
        check_norm_fits(norm, model)
        check_stack_fits(stack, residual, hidden, checkpoint_every)
        check_norm_place(norm_place, stack)
        score, feature = parse_norm(norm)
        scale = layers**-0.5 if residual == "scaled" else 1.0

        def parts(hidden: int) -> tuple[nn.Module | None, ...]:
            width = hidden * heads
            if model in ATTENTION:
                conv = ATTENTION[model](
                    width, hidden, heads, attn_drop=attn_dropout, norm=score, kappa=kappa, kernel=kernel
                )
            else:
                conv = BASELINES[model](width, width)
            norm = feature_norm(feature, width) if feature and norm_place == "branch" else None
            return nn.Dropout(layer_dropout), conv, norm, ACTIVATIONS[activation]()

        def block() -> nn.Module:
            if stack == "reversible":
                f, g = (Branch(*parts(hidden // 2), kernel=kernel) for _ in range(2))
                return ReversibleBlock(f, g, scale=scale)
            sum_norm = feature_norm(feature, hidden * heads) if feature and norm_place == "sum" else None
            return Block(*parts(hidden), kernel=kernel, residual=residual != "none", scale=scale, sum_norm=sum_norm)

        if lookup:
            self.encoder = KeyValueEmbedding(in_feats, hidden * heads, dropout)
        else:
            self.encoder = FeatureLinear(in_feats, hidden * heads, dropout, kernel)
        self.blocks = nn.ModuleList(block() for _ in range(layers))
        self.dropout = nn.Dropout(dropout)
        self.decoder = nn.Linear(hidden * heads, num_classes, bias=not lookup)
        self.has_attention = model in ATTENTION_MODELS
        self.reversible = stack == "reversible"
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
            norm_place=spec.norm_place,
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

    def run(self, blocks: Sequence[nn.Module], graph: Graphs, x: torch.Tensor) -> torch.Tensor:
        """Some blocks of this network one after the other, with the activations kept that it keeps."""
        if not torch.is_grad_enabled():
            return run_blocks(blocks, graph, x)
        if self.reversible:
            return run_reversible(blocks, graph, x)
        if self.checkpoint_every and self.training:
            return run_checkpointed(blocks, graph, x, self.checkpoint_every)
        return run_blocks(blocks, graph, x)

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
        x = self.encoder(x)
        for block in self.blocks:
            weights.append(block.attention(graph, x))
            x = block(graph, x)
        return weights
