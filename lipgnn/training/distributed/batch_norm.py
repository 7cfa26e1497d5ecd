"""BatchNorm whose statistics are those of all workers' items together."""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import nn
from torch.autograd.function import FunctionCtx

from lipgnn.training.distributed.team import Team


class SharedBatchNorm(nn.BatchNorm1d):
    """nn.BatchNorm1d over the rows of all workers: with n_r rows x_ri each and n = Σ n_r,

        μ = Σ_r Σ_i x_ri / n,   σ² = Σ_r Σ_i (x_ri − μ)² / n,   gradients through both.

    Rows of a worker that has no item of its own do not count. torch's SyncBatchNorm is the same for CUDA alone.

    Parameters
    ----------
    norm : what it takes the place of, with its parameters and statistics.
    """

    def __init__(self, norm: nn.BatchNorm1d, team: Team):
        super().__init__(norm.num_features, norm.eps, norm.momentum)
        self._parameters, self._buffers = norm._parameters, norm._buffers
        self.train(norm.training)
        # Not a part of the module: it is neither copied nor saved with it.
        object.__setattr__(self, "team", team)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(n_r, C) → (n_r, C)."""
        if not self.training:
            return super().forward(x)
        counts = float(self.team.counts)
        sums = self._summed(torch.cat([counts * x.sum(dim=0), x.new_full((1,), counts * len(x))]))
        count, mean = sums[-1].detach(), sums[:-1] / sums[-1].detach()
        centred = x - mean
        variance = self._summed(counts * centred.square().sum(dim=0)) / count
        self._keep(mean.detach(), variance.detach(), count)
        return centred * (variance + self.eps).rsqrt() * self.weight + self.bias

    def _summed(self, own: torch.Tensor) -> torch.Tensor:
        return _Sum.apply(own, self.team.statistics)

    def _keep(self, mean: torch.Tensor, variance: torch.Tensor, count: torch.Tensor) -> None:
        """Running statistics as torch has them: of the unbiased variance."""
        self.num_batches_tracked.add_(1)
        self.running_mean.lerp_(mean, self.momentum)
        self.running_var.lerp_(variance * count / (count - 1).clamp(min=1), self.momentum)


class _Sum(torch.autograd.Function):
    """The sum over workers. What all of them make of it goes back to each."""

    @staticmethod
    def forward(ctx: FunctionCtx, own: torch.Tensor, group: dist.ProcessGroup) -> torch.Tensor:
        ctx.group = group
        total = own.clone()
        dist.all_reduce(total, group=group)
        return total

    @staticmethod
    def backward(ctx: FunctionCtx, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        total = gradient.clone()
        dist.all_reduce(total, group=ctx.group)
        return total, None


def share_statistics(network: nn.Module, team: Team) -> None:
    """Put a `SharedBatchNorm` in the place of every BatchNorm of a network; its parameters stay the same tensors."""
    for module in list(network.modules()):
        for name, child in list(module.named_children()):
            if type(child) is nn.BatchNorm1d:
                setattr(module, name, SharedBatchNorm(child, team))
