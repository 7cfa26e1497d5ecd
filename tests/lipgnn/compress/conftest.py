import pytest
import torch

from lipgnn.compress.tensor import ScoreTensor

DOUBLE = torch.float64


@pytest.fixture(scope="session")
def drawn():
    """Random heads: drawn(seed, features=…, heads=…, width=…) -> ScoreTensor."""

    def make(seed=0, *, features=(12, 11), heads=3, width=4):
        draw = torch.Generator().manual_seed(seed)
        return ScoreTensor(*(torch.randn(heads, width, n, generator=draw, dtype=DOUBLE) for n in features))

    return make


@pytest.fixture(scope="session")
def planted():
    """Heads that are a sum of `rank` components by construction: Q_h = diag(m_h) qᵀ, K_h = kᵀ."""

    def make(seed=0, *, features=13, heads=4, rank=5):
        draw = torch.Generator().manual_seed(seed)
        q, m, k = (torch.randn(n, rank, generator=draw, dtype=DOUBLE) for n in (features, heads, features))
        return ScoreTensor(torch.stack([(q * m[h]).mT for h in range(heads)]), torch.stack([k.mT] * heads))

    return make


@pytest.fixture(scope="session")
def dense():
    """The tensor entry by entry, as a numpy array (F_q, H, F_k)."""
    import numpy as np

    def make(tensor):
        query, key = tensor.query.numpy(), tensor.key.numpy()
        heads, width, features = query.shape
        out = np.zeros((features, heads, key.shape[2]))
        for a in range(features):
            for h in range(heads):
                for b in range(key.shape[2]):
                    out[a, h, b] = sum(query[h, d, a] * key[h, d, b] for d in range(width))
        return out

    return make
