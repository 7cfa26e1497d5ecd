"""Linear maps whose largest singular value is bounded."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn.utils import parametrize

from lipgnn.norms.lengths import nonzero


class SpectralBound(nn.Module):
    """W ↦ Ŵ, whose largest singular value is at most c ("cap") or equal to it ("fix"), for every head on its own.

        cap:  Ŵ = W · min(1, c/σ),     fix:  Ŵ = W · c/σ,     σ = uᵀWv

    u and v are the singular vectors of the largest singular value. They come from a decomposition after every step of
    training (`advance_all`), are kept beside W and saved with it; so σ is that value, up to rounding, whenever a
    network is trained, evaluated or saved. Power iteration would follow weights that turn quickly some percent behind.

    Where a further parametrization follows, the bound is of what it is given: behind `NearIdentity` the map that acts
    is (1 − β) I + β Ŵ, whose largest singular value is at most 1 − β + β c.
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
        left, _, right = torch.linalg.svd(self.by_head(weight.detach()), full_matrices=False)
        self.register_buffer("u", left[:, :, 0].contiguous())  # (H, D)
        self.register_buffer("v", right[:, 0].contiguous())  # (H, F)

    def forward(self, weight: torch.Tensor) -> torch.Tensor:
        """(H·D, F) → (H·D, F)."""
        maps = self.by_head(weight)
        # Copies: the vectors may have advanced by the time gradients are asked for.
        u, v = self.u.clone().unsqueeze(1), self.v.clone().unsqueeze(2)
        sigma = u @ maps @ v  # (H, 1, 1)
        factor = self.limit / nonzero(sigma)
        return (maps * (factor if self.fixed else factor.clamp(max=1))).flatten(0, 1)

    def by_head(self, weight: torch.Tensor) -> torch.Tensor:
        """(H·D, F) → (H, D, F)."""
        return weight.unflatten(0, (self.heads, -1))

    def extra_repr(self) -> str:
        return f"limit={self.limit:.4g}, fixed={self.fixed}, heads={self.heads}"


@torch.no_grad()
def advance_all(network: nn.Module) -> None:
    """Turn u and v of every bounded weight to its largest singular value; to be called after a step of training.

    All weights of one shape together: a deep network has hundreds of small ones.
    """
    by_shape: dict[tuple[int, ...], list[tuple[SpectralBound, torch.Tensor]]] = {}
    for module in network.modules():
        if isinstance(module, parametrize.ParametrizationList) and isinstance(module[0], SpectralBound):
            by_shape.setdefault((*module[0].u.shape, *module[0].v.shape), []).append((module[0], module.original))
    for group in by_shape.values():
        heads = group[0][0].heads
        maps = torch.cat([bound.by_head(weight) for bound, weight in group])  # (all heads, D, F)
        former = [torch.cat([getattr(bound, name) for bound, _ in group]) for name in "uv"]
        u, v = _largest(maps, *former)
        for (bound, _), own_u, own_v in zip(group, u.split(heads), v.split(heads), strict=True):
            bound.u.copy_(own_u)
            bound.v.copy_(own_v)


def _largest(maps: torch.Tensor, u: torch.Tensor, v: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Singular vectors of the largest singular values, as good as rounding allows; any of length 1 where that is zero.

    From the smaller of W Wᵀ and WᵀW, in float64, which is cheaper than a decomposition of W. What is not finite counts
    as zero here: the run finds out by itself.
    """
    maps = maps.double()
    maps = (maps / nonzero(maps.abs().amax(dim=(1, 2), keepdim=True))).nan_to_num(0, 0, 0)
    if maps.shape[1] <= maps.shape[2]:
        u = _top(maps @ maps.mT)
        return u, _direction((u.unsqueeze(1) @ maps).squeeze(1), v.double())
    v = _top(maps.mT @ maps)
    return _direction((maps @ v.unsqueeze(2)).squeeze(2), u.double()), v


def _top(squares: torch.Tensor) -> torch.Tensor:
    """(…, D, D) → (…, D): eigenvectors of the largest eigenvalues."""
    return torch.linalg.eigh(squares).eigenvectors[..., -1]


def _direction(x: torch.Tensor, former: torch.Tensor) -> torch.Tensor:
    """x of length 1 in its last dimension; the former one where x is zero, which points nowhere."""
    length = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
    return torch.where(length > 0, x / nonzero(length), former)
