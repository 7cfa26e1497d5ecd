"""Batches of images: every image once an epoch, in an order by seed, and evaluation in pieces."""

import dataclasses
import itertools

import numpy as np
import pytest
import torch
from pictures import CPU, image_network, random_images

from lipgnn.errors import UsageError
from lipgnn.runtime import EDGE_TYPE
from lipgnn.tasks.batches import images, logits_of
from lipgnn.tasks.batches.images import ImageBatches


def test_an_epoch_has_every_training_image_once_in_an_order_of_its_own():
    spec, _, batches = image_network(random_images(count=30), batch_size=4, seed=5)
    epochs = [[batch.items.tolist() for batch in batches.epoch(number)] for number in (1, 2)]
    assert [len(items) for items in epochs[0]] == [4, 4, 2]
    for items in epochs:
        assert sorted(itertools.chain(*items)) == batches.parts["train"].tolist()
    assert epochs[0] != epochs[1]
    again = ImageBatches(spec, random_images(count=30), CPU)
    assert [[batch.items.tolist() for batch in again.epoch(number)] for number in (1, 2)] == epochs
    other = ImageBatches(spec.with_values(seed=6), random_images(count=30), CPU)
    assert [batch.items.tolist() for batch in other.epoch(1)] != epochs[0]


def test_features_are_the_pixels_of_the_items():
    dataset = random_images()
    _, _, batches = image_network(dataset, batch_size=3)
    for batch in batches.epoch(1):
        own = dataset.images[batch.items.numpy()].reshape(len(batch.items), -1)
        np.testing.assert_allclose(batch.features[:, :, 0].T, own)
        assert batch.features.is_contiguous() or batch.features.stride(0) == 1
    whole = batches.whole()
    np.testing.assert_allclose(whole.features[:, 0], dataset.images[whole.items[0]].ravel())
    assert whole.items.tolist() == [batches.parts["test"][0]]


def test_images_in_no_part_are_not_computed():
    dataset = random_images()
    split = dataclasses.replace(dataset.split, train=dataset.split.train & (np.arange(12) > 5))
    dataset = dataclasses.replace(dataset, split=split)
    _, _, batches = image_network(dataset)
    counted = np.flatnonzero(split.train | split.val | split.test)
    assert len(batches.labels) == len(counted) == 10
    np.testing.assert_allclose(batches.pixels, dataset.images.reshape(12, -1)[counted])
    assert batches.labels.tolist() == dataset.labels_array[counted].tolist()
    for part, mask in split.parts.items():
        assert counted[batches.parts[part].numpy()].tolist() == np.flatnonzero(mask).tolist()


@pytest.mark.parametrize("most", [1, 5 * 25 * 4 * 6])
def test_an_evaluation_goes_in_pieces_of_bounded_size(monkeypatch, most):
    _, network, batches = image_network(random_images(), group="p4")
    expected = logits_of(network, batches)
    assert len(list(batches.everything())) == 1
    monkeypatch.setattr(images, "_AT_ONCE", most)
    _, _, batches = image_network(random_images(), group="p4")
    sizes = [len(batch.items) for batch in batches.everything()]
    assert sizes == ([1] * 12 if most == 1 else [5, 5, 2])
    torch.testing.assert_close(logits_of(network, batches), expected)


def test_the_graph_says_the_types_of_its_edges():
    _, _, batches = image_network(random_images(), group="p4m", reach=2)
    sources, targets = batches.graph.edges()
    assert sources.tolist() == batches.product.sources.tolist()
    assert targets.tolist() == batches.product.targets.tolist()
    assert batches.graph.edata[EDGE_TYPE].tolist() == batches.product.types.tolist()


def test_a_reach_larger_than_the_image_is_refused():
    with pytest.raises(UsageError, match="--reach 5 is larger than an image of 5 × 5 pixels"):
        image_network(random_images(), reach=5)
