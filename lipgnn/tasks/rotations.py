"""What becomes of a model of images where these are turned and mirrored: its scores, and the error of every layer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from lipgnn.datasets.images import ImageDataset
from lipgnn.groups import act_on_grid
from lipgnn.groups.grid import MOVES, follow, words_of
from lipgnn.network.images import ImageNetwork
from lipgnn.runtime import dgl
from lipgnn.spec.run import RunSpec
from lipgnn.tasks.batches.images import ImageBatches
from lipgnn.tasks.metrics import SCORES
from lipgnn.tasks.task import FurtherTable

# Test images whose features are compared, layer by layer.
COMPARED = 8


def tables_of(
    spec: RunSpec, dataset: ImageDataset, network: ImageNetwork, batches: ImageBatches
) -> dict[str, FurtherTable]:
    """The tables of an evaluation: `rotations`, scores of the test part, and `equivariance`, errors by layer."""
    moved = logits_by_move(network, batches)
    labels = batches.labels[batches.parts["test"]]
    upright = next(iter(moved.values())).argmax(dim=1)
    rows = [
        {
            "image": name,
            "score": SCORES[spec.metric](logits, labels).item(),
            "other_answers": int((logits.argmax(dim=1) != upright).sum()),
            "in_group": follow(spec.group, MOVES[name])[1],
        }
        for name, logits in moved.items()
    ]
    notes = [
        f"The images are moved pixel by pixel, without interpolation; {spec.metric} is the score.",
        "other answers: how many images have another predicted class than upright.",
        f"in group: whether the move is in the group of the network, {spec.group}.",
    ]
    return {
        "rotations": FurtherTable(f"Test, {len(labels)} images turned and mirrored", rows, notes=notes),
        "equivariance": FurtherTable(
            "Equivariance error by layer",
            errors_by_layer(spec, network, batches),
            notes=[
                "An error is the largest |difference| between the features of a moved image and the moved features of "
                f"the image, divided by the largest |feature|, of {min(COMPARED, len(labels))} test images."
            ],
        ),
    }


def pixel_orders(side: int) -> dict[str, torch.Tensor]:
    """For every move, upright first, where each pixel of a moved image comes from, (P,)."""
    action = act_on_grid("p4m", side)
    sources = action.moves[action.group.inverses]
    return {name: torch.tensor(sources[number], device="cpu") for name, number in MOVES.items()}


def measures_of(spec: RunSpec, network: ImageNetwork, batches: ImageBatches) -> dict[str, float]:
    """IMAGE_MEASURES of the test part."""
    labels = batches.labels[batches.parts["test"]]
    scores = {name: SCORES[spec.metric](own, labels).item() for name, own in logits_by_move(network, batches).items()}
    turned = [score for name, score in scores.items() if name not in ("upright", "mirrored")]
    return {"turned_score": sum(turned) / len(turned), "mirrored_score": scores["mirrored"]}


@torch.no_grad()
def logits_by_move(network: ImageNetwork, batches: ImageBatches) -> dict[str, torch.Tensor]:
    """The output for all images of the test part, (N, C), moved in every way."""
    found: dict[str, list[torch.Tensor]] = {}
    orders = pixel_orders(batches.side)
    for batch in batches.of(batches.parts["test"]):
        for name, order in orders.items():
            moved = batch.features[order.to(batch.features.device)]
            found.setdefault(name, []).append(network(batch.graph, moved))
    return {name: torch.cat(parts) for name, parts in found.items()}


@torch.no_grad()
def errors_by_layer(spec: RunSpec, network: ImageNetwork, batches: ImageBatches) -> list[dict[str, Any]]:
    """A row for every layer, and one for the logits: the error of every move but that which leaves all in place.

    What a network computes of a moved image, at the place to which the move brings a node (i, h), is compared with what
    it computes of the image at that node. A move of the group brings h to g·h, another one to where `follow` says.
    """
    batch = batches.batch(batches.parts["test"][:COMPARED])
    upright = list(_features(network, batch.graph, batch.features))
    errors = {}
    for name, order in list(pixel_orders(batches.side).items())[1:]:
        moved = _features(network, batch.graph, batch.features[order.to(batch.features.device)])
        places = node_places(spec.group, batches.side, MOVES[name]).to(batch.features.device)
        *layers, logits = zip(moved, upright, strict=True)
        errors[name] = [*(_error(found.index_select(0, places), own) for found, own in layers), _error(*logits)]
    names = [*range(1, len(upright)), "logits"]
    return [{"layer": layer, **{name: own[row] for name, own in errors.items()}} for row, layer in enumerate(names)]


def node_places(group: str, side: int, move: int) -> torch.Tensor:
    """Where a move brings every node (i, h), number i·n + h, of the product graph, (P·n,)."""
    elements = torch.tensor(follow(group, move)[0], device="cpu")
    pixels = torch.tensor(act_on_grid("p4m", side).moves[move], device="cpu")
    return (pixels[:, None] * len(elements) + elements).flatten()


@torch.no_grad()
def looks_of(spec: RunSpec, network: ImageNetwork, batches: ImageBatches, number: int) -> dict[str, Any]:
    """Where every group element looks in one image: the attention that pixels get in the last layer.

    Parameters
    ----------
    number : of the image among those of the test part.

    Returns
    -------
    `image` (S, S), its `label`, and for every element, by its name, (S, S) shares of its attention: the mean over heads
    and over pixels i of what (i, h) gives to all nodes of a pixel.
    """
    item = batches.parts["test"][number : number + 1]
    batch = batches.alone(item)
    weights = network.attention(batch.graph, batch.features)[-1].mean(dim=1)  # (E,)
    sources, targets = batch.graph.edges()
    size, pixels = network.elements, batches.product.action.points
    cells = (targets % size) * pixels + sources // size
    shares = weights.new_zeros(size * pixels).index_add(0, cells.long(), weights) / pixels
    side = batches.side
    return {
        "image": batches.pixels[item].view(side, side).cpu().numpy(),
        "label": int(batches.labels[item]),
        "looks": dict(zip(words_of(spec.group), shares.view(size, side, side).cpu().numpy(), strict=True)),
    }


def _features(network: ImageNetwork, graph: dgl.DGLGraph, x: torch.Tensor) -> Iterator[torch.Tensor]:
    """The output of every layer, and the logits."""
    logits = network(graph, x)
    x = start = network.encode(x)
    for block in network.blocks:
        x = network.run([block], graph, x, start)
        yield x
    yield logits


def _error(found: torch.Tensor, expected: torch.Tensor) -> float:
    difference, scale = (found - expected).abs().max().item(), expected.abs().max().item()
    return difference / scale if scale else difference
