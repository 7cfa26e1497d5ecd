"""Fused implementations of the attention step: scores, LipschitzNorm, softmax and weighted sum in one pass.

DGL's message passing (`lipgnn.nn`) is the reference which each of them equals, in outputs and gradients. Every
implementation is a module with the same three functions, `additive` (GAT), `dot_product` (Graph Transformer) and
`dynamic` (GATv2), and with `obstacle`, which says why it cannot be used. `fused` can also say how the attention is
spread.
"""

from lipgnn.kernels.batch_norm import rectified, rectifies
from lipgnn.kernels.choice import choose, choose_for, implementation, obstacles
from lipgnn.kernels.product import affine
from lipgnn.kernels.residual import add_activated

__all__ = ["add_activated", "affine", "choose", "choose_for", "implementation", "obstacles", "rectified", "rectifies"]
