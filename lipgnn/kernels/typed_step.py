"""One step of dot-product attention over edges with types, as the compiled kernel takes it."""

from __future__ import annotations

from typing import Any

import torch

from lipgnn.kernels.adjacency import Adjacency
from lipgnn.kernels.edge_types import TypedEdges
from lipgnn.kernels.steps import DotProductStep

# The gradient of codes is summed in shares, at which as many threads can work. With many types there are fewer of them,
# so that no more is done for shares than for edges; how many there are does not depend on the number of threads.
_LEAST_SHARES, _MOST_SHARES = 8, 32


class TypedProductStep(DotProductStep):
    form = "typed_product"

    def __init__(
        self,
        adjacency: Adjacency,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        edge_weight: torch.Tensor | None,
        codes: torch.Tensor,
        edges: TypedEdges,
        **numbers: Any,
    ):
        super().__init__(adjacency, query, key, value, edge_weight, **numbers)
        self._give(code=codes)
        self.given |= {"incoming_type": edges.incoming, "outgoing_type": edges.outgoing}
        pieces, fitting = len(adjacency.outgoing.pieces) - 1, adjacency.num_edges // max(len(codes), 1)
        shares = min(pieces, max(_LEAST_SHARES, min(_MOST_SHARES, fitting)))
        self.settings |= {"types": len(codes), "shares": shares}

    def backward(self, grad_out: torch.Tensor, **more: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        """The gradients of query, key, value, edge_weight and codes."""
        shares, types = self.settings["shares"], self.settings["types"]
        grad_code = grad_out.new_empty(types, self.layout.size)
        partial = grad_out.new_empty(shares, types, self.layout.size)
        found = super().backward(grad_out, grad_code=grad_code, partial=partial, **more)
        return *found, self.layout.heads(grad_code)
