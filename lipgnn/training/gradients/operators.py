"""What is sent of a vector, and in how many bits.

With k of d coordinates, top-k and random-k are k-contractions, E‖x − comp(x)‖² ≤ (1 − k/d) ‖x‖², which is all that the
theory of memory asks for. QSGD is unbiased instead, E comp(x) = x, and needs no memory.

References: Stich, Cordonnier & Jaggi, "Sparsified SGD with Memory", NeurIPS 2018; Alistarh et al., "QSGD:
Communication-Efficient SGD via Gradient Quantization and Encoding", NeurIPS 2017.
"""

from __future__ import annotations

import math

import torch


def top_k(x: torch.Tensor, k: int) -> torch.Tensor:
    """The places of the k coordinates of x, (d,), that are largest in size, (k,)."""
    return x.abs().topk(k, sorted=False).indices


def random_k(size: int, k: int, seed: int, device: torch.device) -> torch.Tensor:
    """k different places below `size`, each subset with the same probability; a function of the seed alone."""
    generator = torch.Generator(device="cpu").manual_seed(seed)
    return torch.randperm(size, generator=generator, device="cpu")[:k].to(device)


def quantize(x: torch.Tensor, bits: int, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """QSGD: the levels sign(x) ξ of x, (d,), whole numbers within ±s, and its length ‖x‖₂.

        ξ = ⌊s |x| / ‖x‖⌋ + Bernoulli(the fraction that is left),   s = 2^bits,   comp(x) = ‖x‖ sign(x) ξ / s

    Parameters
    ----------
    generator : of the CPU, wherever x is.
    """
    length = torch.linalg.vector_norm(x)
    # A vector of zeros has no direction, and all of its levels are 0.
    exact = x.abs() * (2**bits / torch.where(length > 0, length, torch.ones_like(length)))
    drawn = torch.rand(x.shape, generator=generator, dtype=x.dtype, device="cpu").to(x.device)
    levels = exact.floor() + (drawn < exact.frac())
    return (levels * x.sign()).to(torch.int16), length


def dequantize(levels: torch.Tensor, length: torch.Tensor, bits: int) -> torch.Tensor:
    """comp(x) of what `quantize` gives."""
    return levels.to(length.dtype) * (length / 2**bits)


def dense_bits(size: int, width: int) -> int:
    """Bits of a vector of `size` numbers of `width` bits each."""
    return size * width


def top_k_bits(size: int, k: int, width: int) -> int:
    """Bits of k values and of their places among `size`: k (width + ⌈log₂ size⌉)."""
    return k * (width + math.ceil(math.log2(size)))


def qsgd_bits(size: int, bits: int, nonzeros: int) -> int:
    """Bits of QSGD, the fewest of three codes, with s = 2^bits levels.

        (bits + 1) d   for level and sign of every coordinate,
        3 s (s + √d) + 32   by Elias' code (their theorem),
        (bits + 33) nnz   for level, sign and place of those that are not zero

    These are counted as the authors of Mem-SGD count them, in whose tables d is 2000 and 47 236.
    """
    s = 2**bits
    return min((bits + 1) * size, math.ceil(3 * s * (s + math.sqrt(size)) + 32), (bits + 33) * nonzeros)
