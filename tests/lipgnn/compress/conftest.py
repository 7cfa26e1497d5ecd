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


@pytest.fixture(scope="session")
def data():
    from lipgnn.tasks import load

    return load("planted")


@pytest.fixture(scope="session")
def untrained(data):
    """A Graph Transformer with random weights and biases, in float64 unless said otherwise: untrained(norm="lip")."""
    from lipgnn.spec.run import RunSpec
    from lipgnn.tasks import find_task
    from lipgnn.tasks.saved import SavedModel

    def make(**options):
        small = {"dataset": "planted", "model": "gt", "layers": 2, "hidden": 4, "heads": 3, "dtype": "float64"}
        spec = RunSpec(**{**small, "norm": "none", "bias": "layers", **options})
        torch.manual_seed(0)
        network = find_task(data.task).network(spec, *data.shape)
        with torch.no_grad():
            for weight in network.parameters():
                weight.normal_(std=0.5)
        return SavedModel(network.eval(), spec, data.fingerprint, data.task, data.shape, None)

    return make


@pytest.fixture(scope="session")
def plant():
    """Let all layers of a model be sums of `rank` components: plant(saved, rank), with rank at most its hidden.

    Q_h = diag(s_h √|m_h|) (q | b)ᵀ and K_h = diag(√|m_h|) (k | c)ᵀ with ‖q_r‖ = ‖k_r‖; all columns are the same number
    of directions, and the rows of a head beyond the rank are zero.
    """

    def change(saved, rank):
        draw = torch.Generator().manual_seed(1)
        for block in saved.network.blocks:
            conv, features = block.conv, block.conv.query.in_features
            mixing = torch.randn(conv.num_heads, rank, generator=draw, dtype=DOUBLE)
            weights = conv.query.weight.new_zeros(2, conv.num_heads, conv.out_feats, features + 1)
            for side, sign in enumerate((mixing.sign(), torch.ones_like(mixing))):
                columns = torch.nn.functional.normalize(
                    torch.randn(rank, features + 1, generator=draw, dtype=DOUBLE), dim=1
                )
                weights[side, :, :rank] = (sign * mixing.abs().sqrt()).unsqueeze(2) * columns
            with torch.no_grad():
                for linear, own in zip((conv.query, conv.key), weights.flatten(1, 2), strict=True):
                    linear.weight.copy_(own[:, :-1])
                    linear.bias.copy_(own[:, -1])
        return saved

    return change


@pytest.fixture(scope="session")
def outputs(data):
    """The logits of a model for all nodes of the data."""
    from lipgnn.tasks import find_task
    from lipgnn.tasks.batches import logits_of

    def compute(saved):
        return logits_of(saved.network, find_task(data.task).batches(saved.spec, data, torch.device("cpu")))

    return compute
