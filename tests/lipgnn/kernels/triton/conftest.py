"""Triton's programs on the CPU: its interpreter, the comparison with the reference, and Philox once more."""

import importlib

import numpy as np
import pytest
import torch

# Triton looks at the variable when it is imported, and when a program is defined: both happen here, while tests are
# collected, before any of them can have imported Triton for another reason.
with pytest.MonkeyPatch.context() as patch:
    patch.setenv("TRITON_INTERPRET", "1")
    importlib.import_module("lipgnn.kernels.triton")


@pytest.fixture(scope="module")
def interpreter():
    """Triton's interpreter is on."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_INTERPRET", "1")
        yield


@pytest.fixture(scope="session")
def run(reference):
    """run(conv, graph, x) -> output and all gradients, by name, of one pass forth and back."""

    def results(conv, graph, x):
        x = x.clone().requires_grad_()
        out = conv(graph, x)
        (out * reference.normal(77, *out.shape, dtype=x.dtype)).sum().backward()
        gradients = {name: parameter.grad for name, parameter in conv.named_parameters()}
        return {"out": out.detach(), "x": x.grad, **gradients}

    return results


@pytest.fixture(scope="session")
def check_equal(reference, run):
    """check_equal(kind, graph, x, options) asserts that a layer equals its reference, in outputs and all gradients.

    `mask`, (E, H, 1), takes the place of the reference's dropout. Differences are relative to the largest value of any
    gradient: some are zero, because a constant added to all scores changes nothing, and come out as rounding noise.
    """

    def check(kind, graph, x, *, seed=1, mask=None, alone=False, **options):
        results = []
        for kernel in ("dgl", "triton"):
            conv = kind(x.shape[1], 3, 2, allow_zero_in_degree=True, kernel=kernel, **options)
            reference.redraw(conv, seed, x.dtype)
            if mask is not None and kernel == "dgl":
                conv.attn_drop = _Mask(mask.to(x.dtype))
            results.append(run(conv, graph, x))
        theirs, ours = results
        limit = 1e-5 if x.dtype == torch.float32 else 1e-10
        largest = max((value.abs().max().item() for value in theirs.values() if value.numel()), default=0)
        for name, value in theirs.items():
            scale = value.abs().max().item() if alone else largest
            torch.testing.assert_close(ours[name], value, rtol=0, atol=limit * scale, msg=lambda m, n=name: f"{n}: {m}")

    return check


class _Mask(torch.nn.Module):
    def __init__(self, mask):
        super().__init__()
        self.mask = mask

    def forward(self, attention):
        return attention * self.mask


@pytest.fixture(scope="session")
def philox():
    """philox(counter, key) -> four words: Philox 4x32-10 in Python's integers."""

    def words(counter, key):
        (a, b, c, d), (low, high) = counter, key
        for _ in range(10):
            first, second = 0xD2511F53 * a, 0xCD9E8D57 * c
            a, b, c, d = (second >> 32) ^ b ^ low, second % 2**32, (first >> 32) ^ d ^ high, first % 2**32
            low, high = (low + 0x9E3779B9) % 2**32, (high + 0xBB67AE85) % 2**32
        return a, b, c, d

    return words


@pytest.fixture(scope="session")
def dropout_mask(philox):
    """dropout_mask(edges, heads, p, seed) -> (E, H, 1), by the definition that all kernels share."""

    def mask(edges, heads, p, seed):
        kept = np.empty((edges, heads, 1))
        for edge, head in np.ndindex(edges, heads):
            counter = (edge % 2**32, edge >> 32, head // 4, 0)
            word = philox(counter, (seed % 2**32, seed >> 32))[head % 4]
            kept[edge, head] = 0 if word < int(p * 2**32) else 1 / (1 - p)
        return torch.from_numpy(kept)

    return mask
