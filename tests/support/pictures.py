"""Images for tests: folders of idx files, byte by byte, and networks of small random images."""

import gzip
import struct

import numpy as np
import torch

from lipgnn.datasets.images import ImageDataset
from lipgnn.datasets.source import Split
from lipgnn.spec.sources import resolve
from lipgnn.tasks import find_task
from lipgnn.tasks.batches.images import ImageBatches

CPU = torch.device("cpu")


def idx_bytes(array):
    """An array of bytes in the form of idx files."""
    return struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.astype(np.uint8).tobytes()


def write_idx_folder(folder, *, train=60, test=12, side=8, packed=True):
    """Random images with the labels 0, 1, 2, 0, 1, …"""
    folder.mkdir(parents=True, exist_ok=True)
    draw = np.random.RandomState(0)
    for part, count in (("train", train), ("t10k", test)):
        images = draw.randint(0, 256, (count, side, side))
        for name, array in ((f"{part}-images-idx3-ubyte", images), (f"{part}-labels-idx1-ubyte", np.arange(count) % 3)):
            content = idx_bytes(array)
            (folder / (name + ".gz" * packed)).write_bytes(gzip.compress(content) if packed else content)
    return folder


def random_images(count=12, side=5, classes=3):
    """Random images, of which a third each is trained, validated and tested on."""
    images = np.random.RandomState(1).rand(count, side, side).astype(np.float32)
    thirds = [np.arange(count) % 3 == part for part in range(3)]
    return ImageDataset("random", images, np.arange(count) % classes, classes, Split(*thirds), "0" * 16)


def image_network(dataset, **options):
    """A run on images in double precision, its network in evaluation, with weights that are not small, its batches."""
    small = {"dataset": "digits", "layers": 2, "hidden": 3, "heads": 2, "dtype": "float64"}
    spec = resolve({**small, **options}, {}).spec
    torch.manual_seed(0)
    network = find_task("images").network(spec, *dataset.shape)
    with torch.no_grad():
        for weight in network.parameters():
            weight += 0.3 * torch.randn_like(weight)
    return spec, network.eval(), ImageBatches(spec, dataset, CPU)
