"""The scores of all heads of a layer as one tensor, which is held by its factors and never formed."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from lipgnn.nn.transformer import TransformerConv

# Directions of features on which scores depend less than rounding lets see.
_NOTHING = 1e-14


@dataclass(frozen=True, eq=False)
class ScoreTensor:
    """T (F_q × H × F_k) with T[·, h, ·] = Q_hᵀ K_h: xᵀ T[·, h, ·] y is the score of head h, but for its scale.

    Where maps have biases, a constant 1 is the last of the features.

    Reference: Cordonnier, Loukas & Jaggi, "Multi-Head Attention: Collaborate Instead of Concatenate", 2020.

    Attributes
    ----------
    query, key : Q (H, D, F_q) and K (H, D, F_k), float64.
    """

    query: torch.Tensor
    key: torch.Tensor

    @classmethod
    def of_maps(cls, query: torch.Tensor, key: torch.Tensor, heads: int) -> ScoreTensor:
        """From maps (H·D, F) of all heads, one below the other, of any floating-point type and device; on the CPU."""
        return cls(*(weight.detach().cpu().double().unflatten(0, (heads, -1)) for weight in (query, key)))

    @classmethod
    def of_layer(cls, conv: TransformerConv) -> ScoreTensor:
        """From the maps of a layer as they act, whatever they are learned through.

        Biases are those of a constant 1. That of the keys is left out where there is no score norm: it adds the same to
        all scores of a node, which the softmax does not see.
        """
        key = conv.key.weight if conv.norm is None else _with_bias(conv.key)
        return cls.of_maps(_with_bias(conv.query), key, conv.num_heads)

    @property
    def heads(self) -> int:
        """H."""
        return len(self.query)

    @property
    def full_width(self) -> int:
        """H·D, the width at which shared maps are those of the heads side by side."""
        return self.query.shape[0] * self.query.shape[1]

    @property
    def squared_length(self) -> float:
        """‖T‖² = Σ_h ⟨Q_h Q_hᵀ, K_h K_hᵀ⟩."""
        return (self.query @ self.query.mT * (self.key @ self.key.mT)).sum().item()

    def head(self, head: int) -> torch.Tensor:
        """T[·, h, ·], (F_q, F_k)."""
        return self.query[head].mT @ self.key[head]

    def energy(self) -> torch.Tensor:
        """Shares of the energy, (F_q,): its r-th number is what the r+1 leading dimensions hold of it.

        The energy is that of [T_1 … T_H], side by side: the sum of its squared singular values, which are the
        eigenvalues of Σ_h Q_hᵀ K_h K_hᵀ Q_h. All shares are 1 where the tensor is zero.
        """
        values = torch.linalg.eigvalsh(self._squares(self.query, self.key)).flip(0).clamp(min=0)
        total = values.sum()
        return (values.cumsum(0) / total).clamp(max=1) if total > 0 else torch.ones_like(values)

    def leading(self, width: int) -> tuple[torch.Tensor, torch.Tensor]:
        """The leading dimensions of [T_1 … T_H] (F_q, ≤ width), and of its likeness for keys (F_k, ≤ width)."""
        both = (self._squares(self.query, self.key), self._squares(self.key, self.query))
        return tuple(torch.linalg.eigh(squares).eigenvectors.flip(1)[:, :width] for squares in both)

    def reduced(self) -> tuple[ScoreTensor, torch.Tensor, torch.Tensor]:
        """The same tensor in the features that matter to it, and the orthonormal bases (F_q, r), (F_k, s) of these.

        It lives in the span of at most H·D directions of each side; trained layers often use fewer.
        """
        (query, basis_q), (key, basis_k) = _reduced(self.query), _reduced(self.key)
        return ScoreTensor(query, key), basis_q, basis_k

    @staticmethod
    def _squares(own: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
        """Σ_h A_hᵀ (B_h B_hᵀ) A_h, (F, F)."""
        return (own.mT @ (other @ other.mT) @ own).sum(dim=0)


def _with_bias(linear: nn.Linear) -> torch.Tensor:
    """(W | b), or W."""
    return linear.weight if linear.bias is None else torch.cat([linear.weight, linear.bias.unsqueeze(1)], dim=1)


def _reduced(maps: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """(H, D, F) → (H, D, r) and the basis (F, r) with maps = first @ basisᵀ; r ≥ 1."""
    left, sizes, right = torch.linalg.svd(maps.flatten(0, 1), full_matrices=False)
    rank = max(1, int((sizes > _NOTHING * sizes[0]).sum()))
    return (left[:, :rank] * sizes[:rank]).unflatten(0, maps.shape[:2]), right[:rank].mT
