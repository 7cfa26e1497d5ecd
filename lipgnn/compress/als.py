"""Tensors as sums of few products of three vectors, by alternating least squares."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from lipgnn.compress.tensor import ScoreTensor

# A tensor that is met so well is met; below this the error cannot be told from rounding.
_EXACT = 1e-8
# Steps are damped by so much of the mean of the normal equations' diagonal, which keeps them solvable.
_RIDGE = 1e-10
# Sweeps after which the best of several starts goes on alone.
_RACE = 20
# Random starts.
_DRAWN = 2


@dataclass(frozen=True, eq=False)
class Factors:
    """Σ_r q_r ∘ m_r ∘ k_r, of as many components as the vectors have columns.

    Attributes
    ----------
    query, mixing, key : (F_q, R), (H, R), (F_k, R), float64.
    """

    query: torch.Tensor
    mixing: torch.Tensor
    key: torch.Tensor

    @property
    def width(self) -> int:
        """R."""
        return self.query.shape[1]

    def head(self, head: int) -> torch.Tensor:
        """Σ_r m_hr q_r k_rᵀ, (F_q, F_k)."""
        return self.query * self.mixing[head] @ self.key.mT

    def balanced(self) -> Factors:
        """The same sum with ‖q_r‖ = ‖m_r‖ = ‖k_r‖ and signs in m: the largest number of every q_r and k_r is positive.

        Components may be scaled by any three numbers whose product is 1. One that is zero becomes three zeros.
        """
        parts = (self.query, self.mixing, self.key)
        lengths = [torch.linalg.vector_norm(part, dim=0) for part in parts]
        size = torch.stack(lengths).log().mean(dim=0).exp()  # a cube root that neither overflows nor vanishes
        nothing = size == 0
        scaled = [
            torch.where(nothing, 0.0, part * (size / torch.where(length > 0, length, 1.0)))
            for part, length in zip(parts, lengths, strict=True)
        ]
        signs = [_signs(scaled[0]), _signs(scaled[2])]
        return Factors(scaled[0] * signs[0], scaled[1] * (signs[0] * signs[1]), scaled[2] * signs[1])


def relative_error(tensor: ScoreTensor, factors: Factors) -> float:
    """‖T − Σ_r q_r ∘ m_r ∘ k_r‖ / ‖T‖, head by head; zero where both are zero."""
    missed = sum((tensor.head(h) - factors.head(h)).square().sum().item() for h in range(tensor.heads))
    whole = sum(tensor.head(h).square().sum().item() for h in range(tensor.heads))
    return (missed / whole) ** 0.5 if whole else float(missed > 0)


def decompose(
    tensor: ScoreTensor,
    width: int,
    *,
    start: Factors | None = None,
    seed: int = 0,
    sweeps: int = 1000,
    tolerance: float = 1e-5,
) -> Factors:
    """The tensor as about the best sum of `width` components, balanced.

    Several starts race for some sweeps, and the best of them goes on: the largest singular triples of all heads, the
    leading dimensions of the stacked heads, random ones, and a narrower sum to which the largest triples of what it
    misses are added. From the latter the error can only fall.

    Parameters
    ----------
    width : R, below the full width of the tensor: there the heads themselves are an exact sum, which this search is
        not sure to find.
    start : a narrower sum for the same tensor.
    seed : of the random starts.
    sweeps, tolerance : it ends after so many sweeps, or when one lowers the error by no more than this share of it.
    """
    length = tensor.squared_length**0.5
    if not length:
        return Factors(*(torch.zeros(n, width, dtype=torch.float64) for n in _sizes(tensor)))
    small, basis_q, basis_k = tensor.reduced()
    small = ScoreTensor(small.query / length**0.5, small.key / length**0.5)  # of length 1
    draw = torch.Generator().manual_seed(seed)
    drawn = [_drawn(small, width, draw) for _ in range(_DRAWN)]
    starts = [_extended(small, None, width), _diagonal(small, width, draw), _leading(small, drawn[0]), *drawn]
    if start is not None:
        inside = Factors(basis_q.mT @ start.query, start.mixing / length, basis_k.mT @ start.key)
        starts.append(_extended(small, inside.balanced(), width))
    raced = [_descend(small, one, _RACE, tolerance) for one in starts]
    best, _ = min(raced, key=lambda pair: pair[1])
    best, _ = _descend(small, best, sweeps, tolerance)
    return Factors(basis_q @ best.query, best.mixing * length, basis_k @ best.key).balanced()


def _sizes(tensor: ScoreTensor) -> tuple[int, int, int]:
    return tensor.query.shape[2], tensor.heads, tensor.key.shape[2]


def _descend(tensor: ScoreTensor, factors: Factors, sweeps: int, tolerance: float) -> tuple[Factors, float]:
    """Sweeps of alternating least squares over a tensor of length 1, and the relative error that is left.

    For q_r, with the others held, Σ_s q_s (k_s·k_r)(m_s·m_r) = Σ_h Q_hᵀ (m_hr K_h k_r), and so on in turn. Each of
    these equations is damped towards what it starts from: (G + λ I) X = N + λ X₀, so the error never grows.
    """
    error = float("inf")
    for _ in range(sweeps):
        before, (factors, error) = error, _sweep(tensor, factors)
        if error < _EXACT or before - error <= tolerance * error:
            break
    return factors, error


def _sweep(tensor: ScoreTensor, factors: Factors) -> tuple[Factors, float]:
    factors = factors.balanced()
    mixing, key = factors.mixing, factors.key
    stacked_q, stacked_k = tensor.query.flatten(0, 1), tensor.key.flatten(0, 1)  # (H·D, F)
    on_heads = (tensor.heads, -1, factors.width)  # of (H, D, R)
    seen_k = (stacked_k @ key).view(on_heads)
    query = _solved(
        stacked_q.mT @ (seen_k * mixing.unsqueeze(1)).flatten(0, 1), _gram(key) * _gram(mixing), factors.query
    )
    seen_q = (stacked_q @ query).view(on_heads)
    key = _solved(stacked_k.mT @ (seen_q * mixing.unsqueeze(1)).flatten(0, 1), _gram(query) * _gram(mixing), key)
    seen_k = (stacked_k @ key).view(on_heads)
    overlap, gram = (seen_q * seen_k).sum(dim=1), _gram(query) * _gram(key)
    mixing = _solved(overlap, gram, mixing)
    # ‖T‖² − 2 ⟨T, sum⟩ + ‖sum‖², where the first is 1.
    missed = 1 - 2 * (overlap * mixing).sum() + (gram * _gram(mixing)).sum()
    return Factors(query, mixing, key), max(missed.item(), 0.0) ** 0.5


def _gram(part: torch.Tensor) -> torch.Tensor:
    return part.mT @ part


def _solved(right: torch.Tensor, gram: torch.Tensor, before: torch.Tensor) -> torch.Tensor:
    """X of (G + λ I) Xᵀ = (N + λ X₀)ᵀ."""
    damping = _RIDGE * gram.diagonal().mean().clamp(min=torch.finfo(gram.dtype).tiny)
    damped = gram + damping * torch.eye(len(gram), dtype=gram.dtype)
    return torch.linalg.solve(damped, (right + damping * before).mT).mT


def _extended(tensor: ScoreTensor, narrower: Factors | None, width: int) -> Factors:
    """A narrower sum, none if there is none, and the largest singular triples of what its heads miss."""
    if narrower is None:
        narrower = Factors(*(tensor.query.new_zeros(n, 0) for n in _sizes(tensor)))
    missed = torch.stack([tensor.head(h) - narrower.head(h) for h in range(tensor.heads)])
    left, sizes, right = torch.linalg.svd(missed, full_matrices=False)
    wanted = sizes.flatten().topk(min(width - narrower.width, sizes.numel())).indices
    heads, ranks = wanted // sizes.shape[1], wanted % sizes.shape[1]
    mixing = torch.zeros(tensor.heads, len(wanted), dtype=sizes.dtype)
    mixing[heads, torch.arange(len(wanted))] = sizes.flatten()[wanted]
    added = Factors(left[heads, :, ranks].mT, mixing, right[heads, ranks].mT)
    return _padded(narrower, added, width)


def _padded(first: Factors, second: Factors, width: int) -> Factors:
    """Two sums in one, with components of nothing up to a width."""
    both = ((first.query, second.query), (first.mixing, second.mixing), (first.key, second.key))
    joined = (torch.cat(pair, dim=1) for pair in both)
    return Factors(*(torch.nn.functional.pad(part, (0, width - part.shape[1])) for part in joined))


def _diagonal(tensor: ScoreTensor, width: int, draw: torch.Generator) -> Factors:
    """The vectors that diagonalize two random mixtures of the heads, within the leading dimensions of both sides.

    Where the tensor is a sum of no more components than it has dimensions, these are its components. Mixtures
    A = Q D_A Kᵀ and B = Q D_B Kᵀ then share Q, the eigenvectors of A B⁻¹ = Q D_A D_B⁻¹ Q⁻¹.

    Reference: Leurgans, Ross & Abel, "A Decomposition for Three-Way Arrays", SIAM J. Matrix Anal. Appl., 1993.
    """
    rank = min(width, tensor.query.shape[2], tensor.key.shape[2])
    left, right = tensor.leading(rank)
    heads = torch.stack([left.mT @ tensor.head(h) @ right for h in range(tensor.heads)])  # (H, r, r)
    first, second = torch.einsum("ah,hrs->ars", torch.randn(2, len(heads), generator=draw, dtype=heads.dtype), heads)
    values, vectors = torch.linalg.eig(first @ torch.linalg.pinv(second))
    # Of a pair of complex vectors, which noise may bring, the real and the imaginary part span the same.
    query = torch.where(values.imag < 0, vectors.imag, vectors.real)
    key = (torch.linalg.pinv(query) @ second).mT
    mixing = (torch.linalg.pinv(query) @ heads @ torch.linalg.pinv(key).mT).diagonal(dim1=1, dim2=2)
    return _extended(tensor, Factors(left @ query, mixing, right @ key), width)


def _leading(tensor: ScoreTensor, drawn: Factors) -> Factors:
    """The leading dimensions of both sides, then those that were drawn, with equal shares of all heads."""
    query, key = (
        torch.cat([found, part[:, found.shape[1] :]], dim=1)
        for found, part in zip(tensor.leading(drawn.width), (drawn.query, drawn.key), strict=True)
    )
    return Factors(query, torch.ones_like(drawn.mixing), key)


def _drawn(tensor: ScoreTensor, width: int, draw: torch.Generator) -> Factors:
    return Factors(*(torch.randn(n, width, generator=draw, dtype=torch.float64) for n in _sizes(tensor)))


def _signs(part: torch.Tensor) -> torch.Tensor:
    """±1 for every column, that of its largest number; +1 of nothing."""
    largest = part.gather(0, part.abs().argmax(dim=0, keepdim=True)).squeeze(0)
    return torch.where(largest < 0, -1.0, 1.0)
