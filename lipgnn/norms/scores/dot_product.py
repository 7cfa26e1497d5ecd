"""LipschitzNorm of dot-product scores.

Reference: Dasoulas, Scaman & Virmaux, "Lipschitz Normalization for Self-Attention Layers with Application to
Graph Neural Networks", ICML 2021. The constants of `node_bound` are derived from its theorem; they are the
sharper form, without the factor √2 of the published lemma.
"""

from __future__ import annotations

import math

import torch
from torch import nn

from lipgnn.catalog import DOT_PRODUCT, SHARED_PRODUCT
from lipgnn.errors import UsageError
from lipgnn.norms.bound import Bound
from lipgnn.norms.lengths import mixed_length, nonzero, safe_length
from lipgnn.norms.scores.attention_bound import attention_bound, exp_inverse
from lipgnn.norms.scores.division import divide, longest_neighbour, positive
from lipgnn.runtime import dgl

fn = dgl.function


def products(
    graph: dgl.DGLGraph, query: torch.Tensor, key: torch.Tensor, edge_key: torch.Tensor | None = None
) -> torch.Tensor:
    """q_i·k_j of every edge, (E, H, 1), from query (M, H, D) and key (N, H, D), or keys of edges (E, H, D)."""
    graph = graph.local_var()
    graph.dstdata["q"] = query
    if edge_key is None:
        graph.srcdata["k"] = key
        graph.apply_edges(fn.v_dot_u("q", "k", "scores"))
    else:
        graph.edata["k"] = edge_key
        graph.apply_edges(fn.v_dot_e("q", "k", "scores"))
    return graph.edata["scores"]


class DotProductLipschitzNorm(nn.Module):
    """Normalized dot-product scores of q_i and k_j, as in the Graph Transformer.

        t̂_ij = q_i·k_j / ( κ · max{ u_i v_i, u_i w_i, v_i w_i } )

    with v_i = max_{j∈N(i)} ‖k_j‖, w_i = max_{j∈N(i)} ‖v_j‖, and u_i = ‖q_i‖ for `query_norm="node"`, the
    theorem applied to every target node; u_i = ‖Q‖_F over all nodes for `query_norm="graph"`. The paper has
    κ = 1. The usual factor 1/√D is part of the divisor's business and is left out.

    Where edges have types, the key of an edge is k_j + e_t, with the code of its type, and v_i = max ‖k_j + e_t‖ over
    the in-edges of i. The theorem asks how large t̂_ij is, and how fast it changes, in terms of whatever vectors enter
    the product; a code is a constant, so a change of features changes k_j + e_t exactly as it changes k_j, and every
    bound below holds as it is [D, derived here].

    Of heads that share q̃ and k̃, and mix their channels by vectors m_h, the score is Σ_r m_hr q̃_ir k̃_jr, the product
    of two vectors √|m_h| ⊙ q̃_i and √|m_h| ⊙ k̃_j up to signs. Their lengths are then u and v. That is our extension.
    It keeps the theorem, whose bound is in these vectors, and at a mixing of blocks of ones they are those of heads
    apart.

    This norm computes the scores itself instead of dividing given ones: the product of two large vectors
    would overflow before a divisor could tame it.

    Parameters
    ----------
    kappa : κ > 0, so that |t̂_ij| ≤ 1/κ.
    query_norm : "node" or "graph".
    """

    QUERY_NORMS = ("node", "graph")

    attention = (DOT_PRODUCT, SHARED_PRODUCT)
    keeps_statistics = False

    def __init__(self, *, kappa: float = 1.0, query_norm: str = "node"):
        super().__init__()
        if query_norm not in self.QUERY_NORMS:
            raise UsageError(f"Unknown query_norm {query_norm!r}.", "Valid: 'node', 'graph'.")
        self.kappa = positive(kappa)
        self.query_norm = query_norm

    def forward(
        self,
        graph: dgl.DGLGraph,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        mixing: torch.Tensor | None = None,
        edge_key: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Scores of all edges.

        Parameters
        ----------
        query : (M, H, D), of targets; (M, D̃) where heads share it.
        key : (N, H, D), of sources; (N, D̃) where heads share it.
        value : (N, H, D), of sources.
        mixing : m_h of every head, (H, D̃), where they share queries and keys.
        edge_key : (E, H, D), the keys of edges with the codes of their types, in place of `key`; not with `mixing`.

        Returns
        -------
        (E, H, 1), scores within ±1/κ.
        """
        ends = query, key if edge_key is None else edge_key
        u, v = (safe_length(x) if mixing is None else mixed_length(x, mixing) for x in ends)  # (M, H, 1), …
        if self.query_norm == "graph":
            u = safe_length(u.transpose(0, 2)).transpose(0, 2)  # (1, H, 1)
        v = longest_neighbour(graph, v, of_edges=edge_key is not None)
        w = longest_neighbour(graph, safe_length(value))
        # max{uv, uw, vw} is the product of the two largest of the three.
        first, second = torch.maximum(v, w), torch.maximum(u, torch.minimum(v, w))
        first_size, second_size = nonzero(first.detach()), nonzero(second.detach())
        divisor = nonzero(first / first_size) * nonzero(second / second_size)
        if mixing is not None:
            query, key = query.unsqueeze(1) * mixing, key.unsqueeze(1)
        scores = products(graph, query / second_size, key, edge_key)
        return divide(graph, scores, 1 / first_size, self.kappa * divisor)

    @property
    def local(self) -> bool:
        """Whether scores depend on in-neighbours alone, and not on all queries."""
        return self.query_norm == "node"

    @property
    def fused(self) -> bool:
        """Whether fused kernels compute it: per target node."""
        return self.query_norm == "node"

    def certified(self, graph: dgl.DGLGraph) -> Bound:
        """The Lipschitz constant of one head's attention on `graph` in (q, k, v), by the theorem."""
        return attention_bound(graph, self.node_bound, self.shared_bound)

    def node_bound(self, in_degrees: torch.Tensor) -> torch.Tensor:
        """L_i ≤ e^{1/κ}/√n_i + 2√2/κ in (q_i, k_j, v_j) for "node".

        For "graph" half of the second term is common to all nodes (`shared_bound`), because the scores of
        every node depend on every query: L_i ≤ e^{1/κ}/√n_i + √2/κ here.
        """
        local = 2 if self.query_norm == "node" else 1
        return exp_inverse(self.kappa) * in_degrees.rsqrt() + local * math.sqrt(2) / self.kappa

    @property
    def shared_bound(self) -> float:
        """The part of the bound that is not local to a node: √2/κ for "graph", 0 for "node"."""
        return 0.0 if self.query_norm == "node" else math.sqrt(2) / self.kappa

    def extra_repr(self) -> str:
        return f"kappa={self.kappa}, query_norm={self.query_norm!r}"
