"""Scores of edges by the norms and by their formulas, and gradients of them."""

import torch

DTYPES = [torch.float32, torch.float64]
SIZES = [1e-30, 1e-15, 1e15, 1e30]


def additive(norm: torch.nn.Module, graph, z: torch.Tensor, attn: torch.Tensor) -> torch.Tensor:
    """The norm on t_ij = a_l·z_j + a_r·z_i, (E, H, 1)."""
    (sources, targets), width = graph.edges(), z.shape[-1]
    raw = (z[sources] * attn[..., :width]).sum(-1, keepdim=True) + (z[targets] * attn[..., width:]).sum(
        -1, keepdim=True
    )
    return norm(graph, raw, z, attn)


def dynamic(norm: torch.nn.Module, graph, key: torch.Tensor, query: torch.Tensor, attn: torch.Tensor) -> torch.Tensor:
    """The norm on e_ij = a·LeakyReLU(k_j + q_i), (E, H, 1)."""
    sources, targets = graph.edges()
    raw = (torch.nn.functional.leaky_relu(key[sources] + query[targets], 0.2) * attn).sum(-1, keepdim=True)
    return norm(graph, raw, (key, query), attn)


def gradients(scores: torch.Tensor, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Gradients of a sum of the scores that weighs every edge and head differently."""
    weights = torch.linspace(-1, 2, scores.numel(), dtype=scores.dtype).view(scores.shape)
    return torch.autograd.grad((weights * scores).sum(), inputs)
