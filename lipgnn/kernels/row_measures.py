"""How large the rows of a matrix are and how alike: on the CPU, by two compiled passes without arrays of its size."""

from __future__ import annotations

import torch

from lipgnn.errors import DataError
from lipgnn.kernels import native


def row_measures(
    x: torch.Tensor, groups: torch.Tensor | None = None, less: torch.Tensor | None = None
) -> tuple[torch.Tensor, ...]:
    """‖M‖_F, ‖M − mean‖_F, ‖M‖_{1,∞} and ‖M − mean of the row's group‖_{1,∞}, in double precision.

    ‖M‖_{1,∞} = sqrt(‖M‖_1 ‖M‖_∞), as `lipgnn.measures.features.composite_norm`, whose module defines all four.

    Parameters
    ----------
    x : M, (N, W).
    groups : (N,) int64 from 0 on, the number of every row's group; without them all rows are one.
    less : (N, W), what is taken off x to give M.

    Raises
    ------
    DataError : arrays that do not fit each other, or a number below 0.
    """
    least, most = (0, 0) if groups is None or not len(groups) else map(int, groups.aminmax())
    fits = x.dim() == 2 and (less is None or less.shape == x.shape) and (groups is None or groups.shape == x.shape[:1])
    if not fits or least < 0:
        raise DataError(
            f"x must be (N, W), what is taken off it too, and groups (N,) from 0 on; x is {tuple(x.shape)}, "
            f"less {less if less is None else tuple(less.shape)}, groups "
            f"{groups if groups is None else tuple(groups.shape)} from {least} to {most}.",
        )
    result = torch.empty(4, dtype=torch.float64, device=x.device)
    count = most + 1
    arrays = {name: array.contiguous() for name, array in (("group", groups), ("less", less)) if array is not None}
    native.call(
        "row_measures",
        "forward",
        x.dtype,
        rows=x.shape[0],
        width=x.shape[1],
        groups=count,
        threads=torch.get_num_threads(),
        x=x.contiguous(),
        centers=torch.empty(count + 1, x.shape[1], dtype=torch.float64, device=x.device),
        result=result,
        **arrays,
    )
    return result.unbind()
