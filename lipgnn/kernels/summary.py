"""Three numbers of an array of any size: on the CPU in one compiled pass instead of five."""

from __future__ import annotations

import torch

from lipgnn.kernels import fused, native


def summarize(x: torch.Tensor) -> torch.Tensor:
    """‖x‖_F, Σ|x_i| / size(x) and max |x_i|, (3,), in double precision.

    In single precision the squares of small numbers would vanish: those below 1e-19 are zero.
    """
    x = x.detach()
    if fused.obstacle(x.device) or x.dtype not in native.FLOATS:
        sizes = x.abs()
        norm = torch.linalg.vector_norm(x, dtype=torch.float64)
        return torch.stack([norm, sizes.mean(dtype=torch.float64), sizes.max().double()])
    x, result = x.contiguous(), torch.empty(3, dtype=torch.float64, device=x.device)
    native.call("summary", "forward", x.dtype, size=x.numel(), threads=torch.get_num_threads(), values=x, result=result)
    return result
