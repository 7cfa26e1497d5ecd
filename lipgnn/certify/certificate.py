"""The certificate of a saved model: bounds, certified radii of the test nodes, and an attempt to break them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from lipgnn.certify.attack import Target, attack
from lipgnn.certify.bounds import BlockBound, NetworkBound, layer_bounds, network_bound
from lipgnn.certify.empirical import empirical_bounds, largest_stretch
from lipgnn.certify.perturbation import PerturbedNetwork
from lipgnn.certify.radius import certified_radii, margins
from lipgnn.errors import DataError, UsageError
from lipgnn.tasks import TaskData, find_task
from lipgnn.tasks.saved import SavedModel

# Of the length of one node's features: what is looked at where no radii are given.
RELATIVE_RADII = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
# A certificate is vacuous where the median radius is a smaller part of the length of one node's features than this:
# about what float32 rounds off.
VACUOUS = 1e-6


@dataclass(frozen=True)
class Certificate:
    """What is certain about a model on the test nodes of a data set; lengths are Frobenius norms.

    Attributes
    ----------
    layers : for every layer its number, `bound` and, where that is None, the `reason`; `empirical`, what the layer does
        at the data.
    network : the same of the whole, with `log10_bound`, and the bounds of `encoder` and `decoder`.
    feature_length : root mean square of the lengths of the nodes' features, against which radii are relative.
    median_radius, median_relative : of the test nodes, half of which are certified at least that far; None where that
        is beyond all bounds.
    radii : for every `radius` asked about, also as `relative`, the share of test nodes `certified` at it, and the
        share that is certified and has the right class (`accuracy`).
    vacuous : nothing worth the name is certified (see VACUOUS).
    attack : `tries` within certified radii and how many `flipped`; and for every `multiple` of the radius, how many of
        the `tried` nodes flipped, as far as any was left to flip.
    verdict : all that in words.
    """

    layers: list[dict[str, Any]]
    network: dict[str, Any]
    feature_length: float
    median_radius: float | None
    median_relative: float | None
    radii: list[dict[str, Any]]
    vacuous: bool
    attack: dict[str, Any]
    verdict: str


def certify(
    saved: SavedModel,
    dataset: TaskData,
    device: torch.device,
    *,
    radii: Sequence[float] | None = None,
    tries: int = 20,
    progress: Callable[[str], None] = lambda text: None,
) -> Certificate:
    """Certify a model on a data set of its shape, in float64 and without dropout.

    Parameters
    ----------
    radii : at which nodes are counted; RELATIVE_RADII where none are given.
    tries : attacks within the certified radii of test nodes, one after the other in an order of chance.
    progress : told what is being done.

    Raises
    ------
    UsageError : no certificate can be given for the task.
    DataError : there is one class alone, or no node for testing.
    """
    _check(saved, dataset)
    batches = find_task(dataset.task).batches(saved.spec, dataset, device)
    whole_graph = batches.whole()
    graph, features = whole_graph.graph, whole_graph.features
    test = batches.parts["test"]
    perturbed = PerturbedNetwork(saved.network.to(device), graph, features)
    bounds = layer_bounds(perturbed.network, graph)
    whole = network_bound(perturbed.network, bounds)
    progress("Stretch of every layer …")
    at_data = empirical_bounds(saved.network, graph, features)
    progress("Stretch of the network …")
    stretch = largest_stretch(perturbed, perturbed.origin)
    with torch.no_grad():
        logits = perturbed(perturbed.origin)[test]
    classes = logits.argmax(dim=1)
    certain = certified_radii(margins(logits), whole.log10)
    length = _row_length(features)
    median = certain.median().item()
    targets = map(Target, test.tolist(), classes.tolist(), certain.tolist())
    found = {
        "layers": list(map(_layer, range(1, len(bounds) + 1), bounds, at_data)),
        "network": _network(whole, stretch),
        "feature_length": length,
        "median_radius": _finite(median),
        "median_relative": _finite(median / length) if length else None,
        "radii": _at_radii(radii, length, certain, classes == batches.labels[test]),
        "vacuous": median <= VACUOUS * length,
        "attack": attack(perturbed, list(targets), tries, progress),
    }
    return Certificate(**found, verdict=_verdict(found))


def _check(saved: SavedModel, dataset: TaskData) -> None:
    if not saved.spec.layers:
        raise UsageError("A certificate is about what layers do, and this network is one linear map.", "Leave it out.")
    if reason := find_task(dataset.task).uncertified:
        raise UsageError(reason, "Leave out --certify.")
    if dataset.num_classes < 2:
        raise DataError(
            f"A certificate is about which of several classes a node has, and {dataset.name!r} has one.",
            "Leave out --certify.",
        )
    if not dataset.split.test.any():
        raise DataError(f"The split of {dataset.name!r} has no test nodes to certify.", "Choose another --split.")


def _layer(number: int, bound: BlockBound, at_data: float) -> dict[str, Any]:
    return {"layer": number, "bound": _finite(bound.value), "empirical": _finite(at_data), "reason": bound.reason}


def _network(bound: NetworkBound, at_data: float) -> dict[str, Any]:
    return {
        "bound": _finite(bound.value),
        "log10_bound": _finite(bound.log10),
        "empirical": _finite(at_data),
        "reason": bound.reason,
        "encoder": bound.encoder,
        "decoder": bound.decoder,
    }


def _row_length(features: torch.Tensor) -> float:
    values = features.values() if features.is_sparse else features
    return torch.linalg.vector_norm(values.double()).item() / math.sqrt(len(features))


def _at_radii(
    radii: Sequence[float] | None, length: float, certain: torch.Tensor, right: torch.Tensor
) -> list[dict[str, Any]]:
    rows = []
    for radius in radii or [relative * length for relative in RELATIVE_RADII]:
        certified = certain > radius
        rows.append(
            {
                "radius": radius,
                "relative": radius / length if length else None,
                "certified": certified.double().mean().item(),
                "accuracy": (certified & right).double().mean().item(),
            }
        )
    return rows


def _verdict(found: dict[str, Any]) -> str:
    network, attack = found["network"], found["attack"]
    if network["reason"]:
        return f"The median radius is 0: nothing is certified, because there is no bound ({network['reason']})."
    if attack["flipped"]:
        return f"The bound is wrong: {attack['flipped']} of {attack['tries']} attacks within the radius flipped a node."
    if found["median_radius"] is None:
        return "Half of the test nodes keep their class whatever the features are."
    size = f"{found['median_radius']:.3g}"
    if found["median_relative"] is not None:
        size += f", {found['median_relative']:.1e} of the length of one node's features"
    if found["vacuous"]:
        return f"Vacuous: there is a bound, but so large that the median radius is {size}."
    return f"Half of the test nodes keep their class under any change of the features up to {size}."


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
