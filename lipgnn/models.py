"""The deep stack, written once for every kind of layer: encoder, L blocks, decoder."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

from lipgnn.catalog import ATTENTION_MODELS, MODELS, RESIDUALS, check_name, check_norm_fits, parse_norm
from lipgnn.errors import UsageError
from lipgnn.nn import GATConv, GCNConv, GGNNConv, GINConv, TransformerConv
from lipgnn.norms import feature_norm
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


class FeatureLinear(nn.Linear):
    """A linear map that takes sparse features as they are; bags of words are 99 % zeros.

    Dropout acts on the stored values of a sparse matrix, which is dropout on all of its entries.
    """

    def __init__(self, in_feats: int, out_feats: int, dropout: float):
        super().__init__(in_feats, out_feats)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(N, F), sparse COO or dense → (N, out)."""
        if not x.is_sparse:
            return super().forward(self.dropout(x))
        x = torch.sparse_coo_tensor(
            x.indices(), self.dropout(x.values()), x.shape, device=x.device, is_coalesced=True, check_invariants=False
        )
        return torch.sparse.mm(x, self.weight.t()) + self.bias


class Block(nn.Module):
    """One layer of the stack.

        none:      x ← σ(norm(conv(x)))
        identity:  x ← x + σ(norm(conv(x)))
        scaled:    x ← x + σ(norm(conv(x))) / √L

    With the factor 1/√L the sum of L layers starts, and stays, of the size of one; it lets one learning rate
    serve all depths (Hayou et al., "Stable ResNet", AISTATS 2021).

    Parameters
    ----------
    residual : one of the three.
    depth : L, the number of layers of the whole stack.
    """

    def __init__(self, conv: nn.Module, norm: nn.Module | None, activation: nn.Module, *, residual: str, depth: int):
        super().__init__()
        self.conv = conv
        self.norm = norm
        self.activation = activation
        self.residual = residual != "none"
        self.scale = depth**-0.5 if residual == "scaled" else 1.0

    def forward(self, graph: dgl.DGLGraph, x: torch.Tensor) -> torch.Tensor:
        """(N, W) → (N, W)."""
        y = self.conv(graph, x).flatten(1)
        if self.norm is not None:
            y = self.norm(graph, y)
        y = self.activation(y)
        return x + self.scale * y if self.residual else y

    def extra_repr(self) -> str:
        return f"residual={self.residual}, scale={self.scale:.4g}"


class DeepGNN(nn.Module):
    """Encoder (linear), `layers` blocks of one kind, decoder (linear): logits for every node.

    The network is W = heads · hidden wide throughout, whatever the kind of layer, so that kinds are compared
    at equal width. Dropout acts before the encoder and before the decoder only: dropout before every layer
    leaves nothing to learn from after ten of them.

    Parameters
    ----------
    in_feats, num_classes : widths of the input and of the output.
    model, layers, hidden, heads, norm, kappa, residual, activation, dropout, attn_dropout, kernel : see
        RunSpec.
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
        activation: str = "elu",
        dropout: float = 0.0,
        attn_dropout: float = 0.0,
        kernel: str = "auto",
    ):
        super().__init__()
        check_name("model", model, MODELS)
        check_name("residual", residual, RESIDUALS)
        check_name("activation", activation, ACTIVATIONS)
        check_norm_fits(norm, model)
        score, feature = parse_norm(norm)
        width = hidden * heads

        def conv() -> nn.Module:
            if model in ATTENTION:
                return ATTENTION[model](
                    width, hidden, heads, attn_drop=attn_dropout, norm=score, kappa=kappa, kernel=kernel
                )
            return BASELINES[model](width, width)

        self.encoder = FeatureLinear(in_feats, width, dropout)
        self.blocks = nn.ModuleList(
            Block(
                conv(),
                feature_norm(feature, width) if feature else None,
                ACTIVATIONS[activation](),
                residual=residual,
                depth=layers,
            )
            for _ in range(layers)
        )
        self.dropout = nn.Dropout(dropout)
        self.decoder = nn.Linear(width, num_classes)
        self.has_attention = model in ATTENTION_MODELS
        for linear in (self.encoder, self.decoder):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)

    @classmethod
    def from_spec(cls, spec: RunSpec, in_feats: int, num_classes: int) -> DeepGNN:
        """The network of a run, in its floating-point type, on the CPU."""
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
            activation=spec.activation,
            dropout=spec.dropout,
            attn_dropout=spec.attn_dropout,
            kernel=spec.kernel,
        )
        return network.to(getattr(torch, spec.dtype))

    def forward(self, graph: dgl.DGLGraph, x: torch.Tensor) -> torch.Tensor:
        """Features (N, F) → logits (N, C)."""
        x = self.encoder(x)
        for block in self.blocks:
            x = block(graph, x)
        return self.decoder(self.dropout(x))

    @torch.no_grad()
    def attention(self, graph: dgl.DGLGraph, x: torch.Tensor) -> list[torch.Tensor]:
        """Attention weights of every layer, (E, H) each; after dropout where the network is in training.

        Raises
        ------
        UsageError : the layers of this network have no attention.
        """
        if not self.has_attention:
            raise UsageError("The layers of this network have no attention weights.")
        weights = []
        x = self.encoder(x)
        for block in self.blocks:
            weights.append(block.conv(graph, x, get_attention=True)[1].squeeze(-1))
            x = block(graph, x)
        return weights
