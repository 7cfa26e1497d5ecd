"""Weight norms: linear maps whose largest singular value is bounded, and maps near the identity."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn.utils import parametrize

from lipgnn.norms.scores import nonzero


class SpectralBound(nn.Module):
    """W ↦ Ŵ, whose largest singular value is at most c ("cap") or equal to it ("fix"), for every head on its own.

        cap:  Ŵ = W · min(1, c/σ),     fix:  Ŵ = W · c/σ,     σ = uᵀWv

    u and v are the singular vectors of the largest singular value. They start as those of a decomposition, and a step
    of power iteration follows the weights from then on (`advance`), so σ is that value up to what W has turned since.
    Gradients flow through σ with u and v held, which is its exact derivative.

    That residual networks of hundreds of layers train when every layer is so bounded is a finding of Park & Kim,
    "Taming Gradient Oversmoothing and Expansion in Graph Neural Networks", 2024, who do not say by which formula; these
    two, and limits that shrink with depth, are our instantiation. The vectors kept from step to step are those of
    Miyato et al., "Spectral Normalization for Generative Adversarial Networks", ICLR 2018.

    Parameters
    ----------
    weight : the map (H·D, F), heads one below the other, as it starts.
    limit : c > 0.
    fixed : "fix" instead of "cap".
    heads : H, with a limit for each.
    """

    def __init__(self, weight: torch.Tensor, *, limit: float, fixed: bool, heads: int = 1):
        super().__init__()
        self.limit = limit
        self.fixed = fixed
        self.heads = heads
        left, _, right = torch.linalg.svd(self._by_head(weight.detach()), full_matrices=False)
        self.register_buffer("u", left[:, :, 0].contiguous())  # (H, D)
        self.register_buffer("v", right[:, 0].contiguous())  # (H, F)

    def forward(self, weight: torch.Tensor) -> torch.Tensor:
        """(H·D, F) → (H·D, F)."""
        maps = self._by_head(weight)
        # Copies: the vectors may have advanced by the time gradients are asked for.
        u, v = self.u.clone().unsqueeze(1), self.v.clone().unsqueeze(2)
        sigma = u @ maps @ v  # (H, 1, 1)
        factor = self.limit / nonzero(sigma)
        return (maps * (factor if self.fixed else factor.clamp(max=1))).flatten(0, 1)

    @torch.no_grad()
    def advance(self, weight: torch.Tensor, steps: int = 1) -> None:
        """Turn u and v towards the largest singular value of the weights as they are now."""
        maps = self._by_head(weight)
        for _ in range(steps):
            self.u.copy_(_direction((maps @ self.v.unsqueeze(2)).squeeze(2), self.u))
            self.v.copy_(_direction((self.u.unsqueeze(1) @ maps).squeeze(1), self.v))

    def _by_head(self, weight: torch.Tensor) -> torch.Tensor:
        return weight.unflatten(0, (self.heads, -1))  # (H, D, F)

    def extra_repr(self) -> str:
        return f"limit={self.limit:.4g}, fixed={self.fixed}, heads={self.heads}"


class NearIdentity(nn.Module):
    """W ↦ (1 − β) I + β W, for square maps.

    Reference: Chen et al., "Simple and Deep Graph Convolutional Networks" (GCNII), ICML 2020, equation 5.
    """

    def __init__(self, beta: float):
        super().__init__()
        self.beta = beta

    def forward(self, weight: torch.Tensor) -> torch.Tensor:
        """(W, W) → (W, W)."""
        identity = torch.eye(len(weight), dtype=weight.dtype, device=weight.device)
        return torch.lerp(identity, weight, self.beta)

    def extra_repr(self) -> str:
        return f"beta={self.beta:.4g}"


class Scaled(nn.Module):
    """b ↦ s · b."""

    def __init__(self, factor: float):
        super().__init__()
        self.factor = factor

    def forward(self, bias: torch.Tensor) -> torch.Tensor:
        """Of any shape."""
        return self.factor * bias

    def extra_repr(self) -> str:
        return f"factor={self.factor:.4g}"


def advance_all(network: nn.Module) -> None:
    """A step of power iteration for every bounded weight of a network; to be called after each step of training."""
    for module in network.modules():
        if isinstance(module, parametrize.ParametrizationList) and isinstance(module[0], SpectralBound):
            module[0].advance(module.original)


def _direction(x: torch.Tensor, former: torch.Tensor) -> torch.Tensor:
    """x of length 1 in its last dimension; the former one where x is zero, which points nowhere."""
    length = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
    return torch.where(length > 0, x / nonzero(length), former)
