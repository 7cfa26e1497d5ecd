"""Sums, logarithms of sums and the like over entries that belong to rows; the entries of a row need not be neighbours.

In torch's own operations, on any device, with all derivatives.
"""

from __future__ import annotations

import torch


def take(values: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    """values[places], of which the gradient is the same at any number of threads.

    That of torch's indexing adds up in the order in which threads come; that of `index_select` does not.
    """
    return values.index_select(0, places)


def segment_sums(values: torch.Tensor, row: torch.Tensor, rows: int) -> torch.Tensor:
    """The sum of every row's entries, (rows,); 0 for a row without any.

    Parameters
    ----------
    values, row : (M,) entries, and the row of each.
    """
    return values.new_zeros(rows).index_add(0, row, values)


def segment_max(values: torch.Tensor, row: torch.Tensor, rows: int) -> torch.Tensor:
    """The largest of every row's entries, (rows,), without a gradient; −∞ for a row without any."""
    lowest = values.new_full((rows,), -torch.inf)
    return lowest.scatter_reduce(0, row, values.detach(), "amax")


def segment_log_sum_exp(values: torch.Tensor, row: torch.Tensor, rows: int) -> torch.Tensor:
    """log Σ exp over every row's entries, (rows,); −∞ for a row without any.

    The largest entry of a row is taken off before and added afterwards, so that nothing is too large for exp.
    """
    top = segment_max(values, row, rows)
    top = top.where(top.isfinite(), 0)
    sums = segment_sums((values - top[row]).exp(), row, rows)
    there = sums > 0
    # The logarithm of 0 has no gradient, not even where none is asked for.
    return (sums.where(there, 1).log() + top).where(there, -torch.inf)


def segment_softmax(values: torch.Tensor, row: torch.Tensor, rows: int) -> torch.Tensor:
    """exp(value) over the sum of exp over its row, (M,)."""
    exponentials = (values - segment_max(values, row, rows)[row]).exp()
    return exponentials / take(segment_sums(exponentials, row, rows), row)


def entries_of(first: torch.Tensor, rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The entries of some rows of a table that is sorted by row.

    Parameters
    ----------
    first : (R + 1,), the entries of row r are first[r] to first[r + 1].
    rows : (K,), which rows, in any order and as often as wanted.

    Returns
    -------
    (place in `rows`, entry) for all entries, in the order of `rows`.
    """
    counts = first[rows + 1] - first[rows]
    place = torch.arange(len(rows), device=rows.device).repeat_interleave(counts)
    before = counts.cumsum(0) - counts
    return place, torch.arange(len(place), device=rows.device) - (before - first[rows])[place]


def starts_of(row: torch.Tensor, rows: int) -> torch.Tensor:
    """(rows + 1,): how many entries belong to earlier rows, for every row, and in the end how many there are."""
    counts = torch.bincount(row, minlength=rows)
    return torch.cat([counts.new_zeros(1), counts.cumsum(0)])
