"""Torch's own compressions, in one process; two processes use them in test_hooks."""

from __future__ import annotations

import pytest
import torch

from lipgnn.errors import UsageError
from lipgnn.training.gradients.torch_hooks import Bucket, Half, PowerSgd

SHAPES = [torch.Size((2, 3)), torch.Size((4,))]


def test_a_bucket_shows_one_buffer_as_the_gradients_of_parameters():
    flat = torch.arange(10.0)
    bucket = Bucket(flat, SHAPES)
    first, second = bucket.gradients()
    assert first.tolist() == [[0, 1, 2], [3, 4, 5]]
    second.zero_()
    assert flat.tolist() == [0, 1, 2, 3, 4, 5, 0, 0, 0, 0], "they are one memory"
    assert (bucket.index(), bucket.is_last()) == (0, True)


def test_one_process_rounds_to_half_precision():
    flat = torch.tensor([1.0, 1 / 3, 1e-9, 2049.0])
    mean, bits = Half().mean(Bucket(flat, [torch.Size((4,))]), None)
    assert mean.dtype == torch.float32
    assert mean.tolist() == [1.0, 0.333251953125, 0.0, 2048.0]
    assert bits == 64
    assert Half().tensors() == {}


def test_power_sgd_needs_others():
    with pytest.raises(UsageError, match="workers send each other") as error:
        PowerSgd(2, memory=True, seed=0).mean(Bucket(torch.ones(10), SHAPES), None)
    assert "--workers 2" in error.value.hint


def test_power_sgd_goes_on_from_what_it_had():
    first, second = PowerSgd(2, memory=True, seed=0), PowerSgd(2, memory=True, seed=0)
    assert first.tensors().keys() == {"power.steps"}
    saved = {name: torch.randn(5) for name in ("power.error", "power.p", "power.q")}
    second.load({**saved, "power.steps": torch.tensor(7)})
    again = second.tensors()
    assert again.pop("power.steps") == 7
    assert all(torch.equal(again[name], tensor) for name, tensor in saved.items())
