"""Turned images: scores by loops over numpy's own turns, errors of layers, and where elements look."""

import numpy as np
import pytest
import torch
from pictures import image_network, random_images

from lipgnn.groups.grid import MOVES
from lipgnn.runtime import EDGE_TYPE
from lipgnn.tasks.rotations import errors_by_layer, looks_of, measures_of, node_places, tables_of


def turned(images, name):
    return np.flip(images, axis=2) if name == "mirrored" else np.rot90(images, MOVES[name], axes=(1, 2))


@pytest.mark.parametrize("group", ["z2", "p4", "p4m"])
def test_scores_are_those_of_images_turned_by_numpy(group):
    dataset = random_images(count=30)
    spec, network, batches = image_network(dataset, group=group)
    test = dataset.split.test
    answers = {}
    for name in MOVES:
        pixels = turned(dataset.images[test], name).reshape(test.sum(), -1).T.copy()
        logits = network(batches.graph, torch.tensor(pixels, dtype=torch.float64).unsqueeze(-1))
        answers[name] = logits.argmax(dim=1).numpy()
    rows = tables_of(spec, dataset, network, batches)["rotations"].rows
    assert [row["image"] for row in rows] == list(MOVES)
    for row in rows:
        found = answers[row["image"]]
        assert row["score"] == pytest.approx((found == dataset.labels_array[test]).mean())
        assert row["other_answers"] == (found != answers["upright"]).sum()
    members = {"z2": 1, "p4": 4, "p4m": 5}[group]
    assert [row["in_group"] for row in rows] == [True] * members + [False] * (5 - members)
    scores = [row["score"] for row in rows]
    measures = measures_of(spec, network, batches)
    assert measures == pytest.approx({"turned_score": sum(scores[1:4]) / 3, "mirrored_score": scores[4]})
    # E7: to the last image.
    assert [row["other_answers"] for row in rows][:members] == [0] * members


def test_errors_name_every_layer_and_the_logits():
    spec, network, batches = image_network(random_images(), group="p4", layers=3)
    rows = errors_by_layer(spec, network, batches)
    assert [row["layer"] for row in rows] == [1, 2, 3, "logits"]
    assert all(row["180 degrees"] < 1e-10 < 1e-3 < row["mirrored"] for row in rows)


def test_an_error_of_one_layer_is_found_there():
    """Codes that are not tied to types any more: the first layer is broken, and so is all behind it."""
    spec, network, batches = image_network(random_images(), group="p4", layers=2)
    types = batches.graph.edata[EDGE_TYPE]
    batches.graph.edata[EDGE_TYPE] = types[torch.randperm(len(types), generator=torch.Generator().manual_seed(0))]
    rows = errors_by_layer(spec, network, batches)
    assert min(row["90 degrees"] for row in rows) > 1e-3


@pytest.mark.parametrize(("group", "move"), [("p4", 1), ("p4m", 4), ("mirror", 4), ("z2", 1)])
def test_nodes_go_where_the_move_brings_them(group, move):
    _, network, batches = image_network(random_images(), group=group)
    places = node_places(group, 5, move)
    assert sorted(places.tolist()) == list(range(25 * network.elements))
    if group != "z2":
        numbers = {"p4": 1, "p4m": 4, "mirror": 1}
        assert places.tolist() == batches.product.action.nodes()[numbers[group]].tolist()


def test_elements_look_where_their_weights_are():
    """By a loop over the edges; the shares of an element sum to one."""
    dataset = random_images()
    spec, network, batches = image_network(dataset, group="p4", hidden=3, heads=2)
    found = looks_of(spec, network, batches, 2)
    item = batches.parts["test"][2]
    np.testing.assert_allclose(found["image"], dataset.images[item])
    assert found["label"] == dataset.labels_array[item]
    assert list(found["looks"]) == ["0 degrees", "90 degrees", "180 degrees", "270 degrees"]
    weights = network.attention(batches.graph, batches.alone(item[None]).features)[-1]
    expected = np.zeros((4, 25))
    for source, target, own in zip(*(ends.tolist() for ends in batches.graph.edges()), weights.tolist(), strict=True):
        expected[target % 4, source // 4] += sum(own) / len(own) / 25
    np.testing.assert_allclose(np.stack(list(found["looks"].values())).reshape(4, 25), expected)
    np.testing.assert_allclose(expected.sum(axis=1), 1)
