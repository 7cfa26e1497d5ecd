"""Blocks that can be inverted, and a stack of them whose activations are recomputed from its output."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import torch
from torch import nn

from lipgnn.errors import UsageError
from lipgnn.kernels.once import differentiable_once
from lipgnn.network.recompute import Randomness, buffers_kept
from lipgnn.nn.spread import Spread
from lipgnn.runtime import dgl

Halves = tuple[torch.Tensor, torch.Tensor]


class ReversibleBlock(nn.Module):
    """One layer of a reversible stack, on the two halves x = (x₁, x₂) of the channels.

        y₁ = x₁ + s·f(x₂),   y₂ = x₂ + s·g(y₁)
        x₂ = y₂ − s·g(y₁),   x₁ = y₁ − s·f(x₂)

    Reference: Li et al., "Training Graph Neural Networks with 1000 Layers", ICML 2021, equations 3 to 6 with two
    groups; after Gomez et al., "The Reversible Residual Network", NeurIPS 2017.

    Parameters
    ----------
    f, g : called as `f(graph, x)`, (N, W/2) → (N, W/2), with `attention(graph, x)` where they have attention.
    scale : s.
    """

    def __init__(self, f: nn.Module, g: nn.Module, *, scale: float):
        super().__init__()
        self.f = f
        self.g = g
        self.scale = scale

    @property
    def parts(self) -> list[nn.Module]:
        """The layers and norms in both branches."""
        return [*self.f.parts, *self.g.parts]

    def forward(self, graph: dgl.DGLGraph, x: torch.Tensor) -> torch.Tensor:
        """(N, W) → (N, W), all activations kept by autograd; `run_reversible` keeps none."""
        x1, x2 = halves(x)
        y1 = x1 + self.scale * self.f(graph, x2)
        return torch.cat([y1, x2 + self.scale * self.g(graph, y1)], dim=-1)

    def attention(self, graph: dgl.DGLGraph, x: torch.Tensor) -> torch.Tensor:
        """Attention weights of f, then those of g, (E, 2H)."""
        x2, y1 = self._inputs(graph, x)
        return torch.cat([self.f.attention(graph, x2), self.g.attention(graph, y1)], dim=1)

    def spread(self, graph: dgl.DGLGraph, x: torch.Tensor) -> Spread:
        """How evenly the attention of f and that of g is spread, (N, 2H)."""
        x2, y1 = self._inputs(graph, x)
        both = zip(self.f.spread(graph, x2), self.g.spread(graph, y1), strict=True)
        return Spread(*(torch.cat(parts, dim=1) for parts in both))

    def _inputs(self, graph: dgl.DGLGraph, x: torch.Tensor) -> Halves:
        """What f and g are given."""
        x1, x2 = halves(x)
        return x2, x1 + self.scale * self.f(graph, x2)

    def extra_repr(self) -> str:
        return f"scale={self.scale:.4g}"


def halves(x: torch.Tensor) -> Halves:
    """The first and the second half of the channels, (N, W/2) each, each in one piece as DGL wants them."""
    x1, x2 = x.chunk(2, dim=-1)
    return x1.contiguous(), x2.contiguous()


def run_reversible(blocks: Sequence[ReversibleBlock], graph: dgl.DGLGraph, x: torch.Tensor) -> torch.Tensor:
    """One block after the other, (N, W) → (N, W), keeping the last output alone whatever their number.

    Gradients are those of the blocks one after the other up to the rounding of the inversion: a few units in the
    last place a block.
    """
    blocks = list(blocks)
    return _Stack.apply(x, graph, blocks, *(p for block in blocks for p in block.parameters()))


NO_SECOND = UsageError(
    "Reversible networks have no second derivatives, and one was asked for.", "Use another --stack than reversible."
)


class _Stack(torch.autograd.Function):
    """All blocks as one operation; the parameters are its inputs so that their gradients take autograd's usual way."""

    @staticmethod
    def forward(
        ctx: Any, x: torch.Tensor, graph: dgl.DGLGraph, blocks: list[ReversibleBlock], *parameters: torch.Tensor
    ) -> torch.Tensor:
        ctx.graph, ctx.blocks, ctx.moments = graph, blocks, []
        x1, x2 = halves(x)
        moment = None
        for block in blocks:
            before_f = moment = Randomness.now(x.device, moment)
            x1 = x1 + block.scale * block.f(graph, x2)
            before_g = moment = Randomness.now(x.device, moment)
            x2 = x2 + block.scale * block.g(graph, x1)
            ctx.moments.append((before_f, before_g))
        y = torch.cat([x1, x2], dim=-1)
        # The parameters are needed as they are now, and autograd notices if they are changed in between.
        ctx.save_for_backward(y, *parameters)
        return y

    @staticmethod
    @partial(differentiable_once, refusal=NO_SECOND)
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        y1, y2 = halves(ctx.saved_tensors[0])
        d1, d2 = halves(gradient)
        of_parameters: list[torch.Tensor | None] = []
        for block, (before_f, before_g) in zip(reversed(ctx.blocks), reversed(ctx.moments), strict=True):
            step, through, of_g = _again(block.g, ctx.graph, y1, d2, before_g, block.scale)
            y2, d1 = y2 - step, d1 + through
            step, through, of_f = _again(block.f, ctx.graph, y2, d1, before_f, block.scale)
            y1, d2 = y1 - step, d2 + through
            of_parameters = [*of_f, *of_g, *of_parameters]
        return torch.cat([d1, d2], dim=-1), None, None, *of_parameters


def _again(
    branch: nn.Module, graph: dgl.DGLGraph, x: torch.Tensor, gradient: torch.Tensor, moment: Randomness, scale: float
) -> tuple[torch.Tensor, torch.Tensor, list[torch.Tensor | None]]:
    """Repeat s·branch(x): its value, and from the gradient of that those of x and of the branch's parameters."""
    parameters = list(branch.parameters())
    wanted = [p for p in parameters if p.requires_grad]
    with torch.enable_grad(), moment.again(), buffers_kept(branch):
        x = x.detach().requires_grad_()
        step = scale * branch(graph, x)
    through, *found = torch.autograd.grad(step, [x, *wanted], gradient, allow_unused=True)
    remaining = iter(found)
    return step.detach(), through, [next(remaining) if p.requires_grad else None for p in parameters]
