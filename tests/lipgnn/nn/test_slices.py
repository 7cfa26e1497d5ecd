"""Slices are taken apart and put together in one order."""

import torch

from lipgnn.nn.slices import stacked, unbound


def test_taken_apart_and_put_together(reference):
    x = reference.normal(0, 7, 2, 3, 4, 5)  # (N, 2, 3, H, D)
    first = x.flatten(1, 2).transpose(0, 1)
    parts = list(unbound([first, None]))
    assert len(parts) == 6 and all(second is None for _, second in parts)
    assert torch.equal(stacked([one for one, _ in parts], torch.Size([2, 3])), x)
    assert stacked([None] * 6, torch.Size([2, 3])) is None
