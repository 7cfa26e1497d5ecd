"""AERO-GNN: attention over edges and over hops, which stays awake in depth."""

from __future__ import annotations

import math

import torch
from torch import nn
from torch.nn import functional

from lipgnn.errors import DataError
from lipgnn.nn.ends import Ends
from lipgnn.norms import Bound
from lipgnn.runtime import PerGraph, dgl
from lipgnn.spec.network import NetworkSpec


class AeroConv(nn.Module):
    """One hop of AERO-GNN: features h are passed on by attention, and added to z in shares of their own.

    For every head, with z̃ = z log(λ/k + 1 + 1e-6) of the hop k − 1 before,

        ǎ_ij = softplus(w·ELU(z̃_i + z̃_j)) + 1e-6,   A = D^{-1/2} Ǎ D^{-1/2},   h ← A h
        γ_i = v·ELU([h_i ‖ z̃_i]) + b,   z_i ← z_i + γ_i h_i

    with D the sums of Ǎ over in-edges. The first hop starts from h alone, with z = (v₀·ELU(h) + b₀) h; the last one
    gives ELU(z), from which the decoder reads. Between hops go h and z, side by side. w, v and v₀ start as Glorot draws
    them, b and b₀ at 1. ‖A‖₂ ≤ 1 where edges go both ways, and only there: other graphs are refused. Self-loops are the
    caller's duty; `lipgnn.datasets` adds them.

    Reference: Lee et al., "Towards Deep Attention in Graph Neural Networks: Problems and Remedies", ICML 2023,
    as in github.com/syleeheal/AERO-GNN.

    Parameters
    ----------
    width, num_heads : of h and of z, all heads together; the number of heads.
    decay : log(λ/k + 1 + 1e-6).
    first : whether the input is h (N, W), and not h and z (N, 2W).
    last : whether the output is ELU(z) (N, W), and not h and z (N, 2W).
    """

    # Weights divide by what enters the neighbours.
    local = False
    counts_out_edges = True
    keeps_statistics = False

    def __init__(self, width: int, num_heads: int, *, decay: float, first: bool = True, last: bool = True):
        super().__init__()
        self.num_heads = num_heads
        self.decay = decay
        self.first, self.last = first, last
        self.width = width
        head = width // num_heads
        self.edge = nn.Parameter(torch.empty(num_heads, head))
        self.hop = nn.Parameter(torch.empty(num_heads, 2 * head))
        self.hop_bias = nn.Parameter(torch.empty(num_heads))
        if first:
            self.start = nn.Parameter(torch.empty(num_heads, head))
            self.start_bias = nn.Parameter(torch.empty(num_heads))
        self.reset_parameters()

    @classmethod
    def from_spec(cls, spec: NetworkSpec, width: int) -> AeroConv:
        """The layer of a network of one."""
        return cls(width, spec.heads, decay=_decay(spec, 1))

    @classmethod
    def from_spec_at(cls, spec: NetworkSpec, width: int, layer: int) -> AeroConv:
        """The layer of this number, from 1 on."""
        return cls(width, spec.heads, decay=_decay(spec, layer), first=layer == 1, last=layer == spec.layers)

    def reset_parameters(self) -> None:
        """Draw new vectors: Glorot uniform; the constant shares of hops are 1."""
        for name, parameter in self.named_parameters():
            (nn.init.ones_ if "bias" in name else nn.init.xavier_uniform_)(parameter)

    def forward(self, graph: dgl.DGLGraph, x: torch.Tensor) -> torch.Tensor:
        """(N, W) or (N, 2W) → the same, by `first` and `last`.

        Raises
        ------
        DataError : features that do not fit, or a graph whose edges do not all go both ways.
        """
        width = self.width if self.first else 2 * self.width
        x = Ends.of(graph, x, like=self.edge, widths=(width, width)).source
        _check_both_ways(graph)
        h, z = self._opened(x)  # (N, H, D)
        decayed = self.decay * z
        h = self._passed_on(graph, h, decayed)
        z = z + self._share(torch.cat([h, decayed], dim=-1), self.hop, self.hop_bias) * h
        return functional.elu(z).flatten(1) if self.last else torch.cat([h.flatten(1), z.flatten(1)], dim=1)

    def shown(self, y: torch.Tensor) -> torch.Tensor:
        """z of the output, which is what the decoder sees in the end: h becomes smooth by design."""
        return y if self.last else y[:, self.width :]

    def weights(self, graph: dgl.DGLGraph, decayed: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """ǎ of all edges, (E, H, 1), and D^{-1/2} of all nodes, (N, H, 1), from z̃ (N, H, D)."""
        scores = (self.edge * functional.elu(dgl.ops.u_add_v(graph, decayed, decayed))).sum(dim=-1, keepdim=True)
        raw = functional.softplus(scores) + 1e-6
        # The least that one edge can have; 0 is of nodes without edges alone.
        return raw, dgl.ops.copy_e_sum(graph, raw).clamp(min=1e-6).rsqrt()

    def certified(self, graph: dgl.DGLGraph) -> Bound:
        """No bound is known."""
        return Bound.unknown(
            "shares of hops multiply the features that they are made of, which is not Lipschitz: use another --model "
            "than aero"
        )

    def _opened(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """h and z that the hop starts from, (N, H, D) each, in one piece as DGL wants them."""
        if not self.first:
            h, z = (half.contiguous().unflatten(1, (self.num_heads, -1)) for half in x.chunk(2, dim=1))
            return h, z
        h = x.unflatten(1, (self.num_heads, -1))
        return h, self._share(h, self.start, self.start_bias) * h

    def _passed_on(self, graph: dgl.DGLGraph, h: torch.Tensor, decayed: torch.Tensor) -> torch.Tensor:
        raw, root = self.weights(graph, decayed)
        return root * dgl.ops.u_mul_e_sum(graph, root * h, raw)

    @staticmethod
    def _share(x: torch.Tensor, vector: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        """v·ELU(x) + b, (N, H, D) → (N, H, 1)."""
        return ((vector * functional.elu(x)).sum(dim=-1) + bias).unsqueeze(-1)

    def extra_repr(self) -> str:
        return f"decay={self.decay:.4g}, first={self.first}, last={self.last}"


def _decay(spec: NetworkSpec, layer: int) -> float:
    return math.log(spec.beta / layer + 1 + 1e-6)


def _check_both_ways(graph: dgl.DGLGraph) -> None:
    """Refuse a graph in which an edge has none that goes back."""
    if graph.is_block or not _goes_both_ways(graph):
        raise DataError(
            "Model 'aero' needs a graph all of whose edges go both ways, and some of this one do not.",
            "Use an undirected data set, all of it at once (--batch-size 0), or another --model.",
        )


def _symmetric(graph: dgl.DGLGraph) -> bool:
    sources, targets = (end.long() for end in graph.edges())
    there, back = sources * graph.num_nodes() + targets, targets * graph.num_nodes() + sources
    return torch.equal(there.sort().values, back.sort().values)


# Once a graph: on a GPU the answer has to be waited for, and a deep network asks in every layer.
_goes_both_ways = PerGraph(_symmetric)
