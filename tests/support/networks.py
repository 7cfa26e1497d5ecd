"""Networks for tests: bare layers, so that a test names all that it is about."""

from lipgnn.network.deep import DeepGNN
from lipgnn.spec.network import NetworkSpec

BARE = {"norm": "none", "residual": "none", "dropout": 0.0, "recompute_every": "0"}


def bare(in_feats, num_classes, *, lookup=False, **options):
    """A network without norms, residual connections and dropout but for those that `options` name."""
    return DeepGNN(NetworkSpec(**{**BARE, **options}), in_feats, num_classes, lookup=lookup)
