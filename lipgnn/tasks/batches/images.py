"""Batches of images on one graph: an image more is a row more of features, and no node more."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from lipgnn.datasets.images import ImageDataset
from lipgnn.groups import ProductGraph, act_on_grid, offsets_on_grid, product_graph
from lipgnn.runtime import EDGE_TYPE, dgl
from lipgnn.spec.run import RunSpec
from lipgnn.tasks.batches.batch import WHOLE, Batch, Share, generator_of, shuffled

# Numbers that the features of a layer have at most in an evaluation, of all nodes and images together; a layer with an
# MLP makes about ten times as many.
_AT_ONCE = 2**22


class ImageBatches:
    """Some images a step, in another order every epoch; features are (pixels, images, 1), the outputs those of images.

    Items are the images that are in some part of the split, in their order.
    """

    shares_forward = False
    share: Share = WHOLE

    def __init__(self, spec: RunSpec, dataset: ImageDataset, device: torch.device):
        self.side = dataset.side
        self.product = graph_of(spec, dataset.side)
        self.graph = dgl_graph(self.product).to(device)
        masks = {part: torch.tensor(mask, device="cpu") for part, mask in dataset.split.parts.items()}
        counted = torch.stack(list(masks.values())).any(dim=0)
        images = torch.tensor(dataset.images, device="cpu").flatten(1)[counted]
        self.pixels = images.to(device, getattr(torch, spec.dtype))  # (N, P)
        self.labels = torch.tensor(dataset.labels_array, device="cpu")[counted].to(device)
        self.parts = {part: mask[counted].nonzero()[:, 0].to(device) for part, mask in masks.items()}
        self._seed, self._device = spec.seed, device
        self._batch_size = spec.batch_size or len(self.parts["train"])
        self._at_once = max(1, _AT_ONCE // (self.product.num_nodes * spec.width))

    def epoch(self, number: int) -> Iterator[Batch]:
        order = shuffled(self.parts["train"], generator_of(self._seed, number)).to(self._device)
        return (self.batch(items, **said) for items, said in map(self.share.cut, order.split(self._batch_size)))

    def everything(self) -> Iterator[Batch]:
        return self.of(self.share.of(torch.arange(len(self.labels), device=self._device)))

    def of(self, items: torch.Tensor) -> Iterator[Batch]:
        """Some items in their order, as many together as are evaluated at once."""
        return map(self.batch, items.split(self._at_once))

    def whole(self) -> Batch:
        """The first image of the test part alone, as a graph with one row for every pixel."""
        return self.alone(self.parts["test"][:1])

    def alone(self, item: torch.Tensor) -> Batch:
        """One item, (1,), without an axis for images."""
        return Batch(self.graph, self.pixels[item].t(), item)

    def batch(self, items: torch.Tensor, **said: Any) -> Batch:
        """Some items at once, with what else is said of them."""
        return Batch(self.graph, self.pixels[items].t().unsqueeze(-1), items, **said)


def graph_of(spec: RunSpec, side: int) -> ProductGraph:
    """The graph of pixels and group elements for images of that side.

    Raises
    ------
    UsageError : the reach of the run is larger than the image.
    """
    return product_graph(act_on_grid(spec.group, side), offsets_on_grid(side, spec.reach))


def dgl_graph(product: ProductGraph) -> dgl.DGLGraph:
    """The same as a graph of DGL, with the types of its edges."""
    ends = torch.tensor(product.sources, device="cpu"), torch.tensor(product.targets, device="cpu")
    graph = dgl.graph(ends, num_nodes=product.num_nodes)
    graph.edata[EDGE_TYPE] = torch.tensor(product.types, device="cpu")
    return graph
