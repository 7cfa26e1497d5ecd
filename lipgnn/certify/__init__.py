"""What is certain about a trained network: how much it can stretch a change of its features, and what follows."""

from lipgnn.certify.bounds import BlockBound, NetworkBound, layer_bounds, network_bound
from lipgnn.certify.certificate import Certificate, certify
from lipgnn.certify.empirical import empirical_bounds

__all__ = ["BlockBound", "Certificate", "NetworkBound", "certify", "empirical_bounds", "layer_bounds", "network_bound"]
