"""Networks for tests: bare layers, so that a test names all that it is about."""

from lipgnn.catalog import task_of
from lipgnn.network.deep import DeepGNN
from lipgnn.spec.network import NetworkSpec

BARE = {
    "norm": "none",
    "residual": "none",
    "dropout": 0.0,
    "layer_dropout": 0.0,
    "activation": "elu",
    "encoder_activation": "none",
    "bias": "layers",
    "recompute_every": "0",
}


def bare(in_feats, num_classes, **options):
    """A network without norms, residual connections and dropout but for those that `options` name."""
    return DeepGNN(NetworkSpec(**{**BARE, **options}), in_feats, num_classes)


def network_of(spec, num_features, num_classes):
    """The network of a run, as the task of its data set makes it."""
    return task_of(spec.dataset).network(spec, num_features, num_classes)
