"""What a norm owes the rest of the program, and how the rest reads it.

A norm says what is true of it by attributes and methods of its class, which the protocols below name. None of them has
to be there: whoever reads a fact goes through the functions of this module, and what a class does not say is taken for
the careful case, never for the convenient one. An unknown norm is not local, keeps statistics, has no certified bound,
and is computed by the reference.
"""

from __future__ import annotations

from typing import Any, Protocol

import torch
from torch import nn

from lipgnn.norms.bound import Bound
from lipgnn.runtime import dgl


class ScoreNorm(Protocol):
    """A norm of attention scores, before the softmax; it is made with `kappa` and the arguments of its entry.

    One for additive attention is called as `norm(graph, scores, z, attn)`, with the raw scores t_ij (E, H, 1), the
    projected features (N, H, D) and the attention vectors (1, H, 2D); one for dynamic attention in the same way, with
    scores behind their LeakyReLU, the pair of keys and queries as z, and attention vectors (1, H, D); one for
    dot-product attention as `norm(graph, query, key, value)`, (N, H, D) each; one for heads that share queries and keys
    as `norm(graph, query, key, value, mixing)`, with both (N, D̃) and the mixing (H, D̃). All return the scores of all
    edges, (E, H, 1).

    Attributes
    ----------
    attention : the kinds of attention it fits, of "additive", "dot-product", "dynamic" and "shared-product".
    local : whether the scores of a node depend on the features of its in-neighbours and its own alone.
    keeps_statistics : whether it is another function in training than in evaluation, see `FeatureNorm`.
    fused : whether fused kernels compute the same, from its `kappa`.
    kappa : its strength.
    """

    attention: tuple[str, ...]
    local: bool
    keeps_statistics: bool
    fused: bool
    kappa: float

    def certified(self, graph: dgl.DGLGraph) -> Bound:
        """The Lipschitz constant of one head's attention on the whole graph, in the projected features."""
        ...


class FeatureNorm(Protocol):
    """A norm of features: a module called as `norm(graph, x)`, (N, F) → (N, F).

    Those of ours take (N, …, F) as well, such as of several images on one graph. A norm over the nodes of a graph then
    takes every … by itself.

    Attributes
    ----------
    local : whether what becomes of a node depends on its own features alone.
    keeps_statistics : whether it sees the batch in training and keeps statistics of it for evaluation, as BatchNorm
        does: it is then another function in the two. Dropout is found without being said.
    """

    local: bool
    keeps_statistics: bool

    @classmethod
    def for_width(cls, width: int, **arguments: Any) -> FeatureNorm:
        """The norm of features of `width` channels, with the arguments of its entry in the catalog."""
        ...

    def __call__(self, graph: dgl.DGLGraph | None, x: torch.Tensor) -> torch.Tensor: ...

    def certified(self, graph: dgl.DGLGraph | None) -> Bound:
        """The Lipschitz constant, in evaluation."""
        ...


def said(part: nn.Module, fact: str, careful: Any) -> Any:
    """What a norm or a layer says of itself; `careful` where it says nothing.

    What a class says is of its own `forward`: a subclass that computes something else has to say it again.
    """
    for kind in type(part).__mro__:
        if fact in vars(kind):
            return getattr(part, fact)
        if "forward" in vars(kind):
            break
    return careful


def is_local(part: nn.Module | None) -> bool:
    """Whether a norm or a layer says that it is local; where there is none, nothing looks farther."""
    return part is None or said(part, "local", False)


def keeps_statistics(part: nn.Module | None) -> bool:
    """Whether a norm or a layer keeps statistics of batches, or does not say."""
    return part is not None and said(part, "keeps_statistics", True)


def is_fused(norm: nn.Module | None, attention: str) -> bool:
    """Whether fused kernels compute attention of this kind with this score norm, or with none."""
    return norm is None or (said(norm, "fused", False) and attention in said(norm, "attention", ()))


def certified(part: nn.Module | None, graph: dgl.DGLGraph | None) -> Bound:
    """The certified bound of a norm or a layer, or the reason why there is none; where there is no part, it is 1."""
    if part is None:
        return Bound(1.0)
    own = said(part, "certified", None)
    return own(graph) if own else Bound.unknown(f"{type(part).__name__} says no certified bound")
