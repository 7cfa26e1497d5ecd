"""What the programs have in common: rows of tensors, scores, and the dropout mask."""

from __future__ import annotations

from collections.abc import Callable

import torch

try:
    import triton
    import triton.language as tl
except ImportError:  # `lipgnn.kernels.triton.obstacle` says so, and no program is started
    triton = tl = None


def program(function: Callable) -> Callable:
    """The decorator of Triton programs; where Triton is missing the function is left as it is."""
    # The seed changes at every call: a program made for one value of it would be made anew each time.
    return triton.jit(function, do_not_specialize=["seed"]) if triton else function


def padded(width: int) -> int:
    """The next power of two, which is what Triton wants of a width."""
    return 1 << (width - 1).bit_length()


def edges_together(*widths: int) -> int:
    """How many edges a program looks at together, so that a warp has registers for their rows of these widths."""
    return max(2, min(32, 1024 // padded(sum(widths))))


def on_device(tensor: torch.Tensor) -> torch.cuda.device_of:
    """A context in which programs start where `tensor` is: Triton goes by torch's current device."""
    return torch.cuda.device_of(tensor)


@program
def row_of(pointer, row, WIDTH: tl.constexpr, PADDED: tl.constexpr):
    width = tl.arange(0, PADDED)[None, :]
    return tl.load(pointer + row * WIDTH + width, mask=width < WIDTH, other=0)  # (1, PADDED)


@program
def rows_of(pointer, rows, here, WIDTH: tl.constexpr, PADDED: tl.constexpr):
    width = tl.arange(0, PADDED)[None, :]
    return tl.load(pointer + rows[:, None] * WIDTH + width, mask=here[:, None] & (width < WIDTH), other=0)


@program
def score_of(q, k, u, v, here, ADDITIVE: tl.constexpr, SLOPE: tl.constexpr):
    """s and its derivative by t, (EDGES,); −∞ beside the edges. Divided before multiplied: nothing overflows."""
    t = tl.sum((q + k) / u / v if ADDITIVE else (q / u) * (k / v), axis=1)
    # Written out, because a float alone would be a float32 and cost a float64 its digits.
    slope = tl.where(t > 0, tl.full(t.shape, 1, t.dtype), tl.full(t.shape, SLOPE, t.dtype))
    return tl.where(here, t * slope, float("-inf")), slope


@program
def kept_of(edge_id, edge, here, head, seed, DROPPED: tl.constexpr, GAIN: tl.constexpr, dtype: tl.constexpr):
    """M of some edges: 0 where their word is below DROPPED = p · 2³², else GAIN = 1/(1 − p)."""
    number = tl.load(edge_id + edge, mask=here, other=0)
    word = random_word(number, head, seed)
    return tl.where(word < DROPPED, tl.zeros(number.shape, dtype), tl.full(number.shape, GAIN, dtype))


@program
def random_word(number, head, seed):
    """Word head mod 4 of Philox 4x32-10 with key `seed` and counter (number, 64 bits; head div 4; 0), as int64."""
    low, high = number.to(tl.uint32), (number >> 32).to(tl.uint32)
    a, b, c, d = tl.philox(seed, low, high, tl.zeros_like(low) + (head // 4).to(tl.uint32), tl.zeros_like(low))
    lane = head % 4
    word = tl.where(lane == 0, a, tl.where(lane == 1, b, tl.where(lane == 2, c, d)))
    return word.to(tl.int64)
