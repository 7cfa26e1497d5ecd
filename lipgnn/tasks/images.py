"""Images: one class for each, by attention between pixels that respects turns and mirrors.

Reference: Romero & Cordonnier, "Group Equivariant Stand-Alone Self-Attention For Vision", ICLR 2021.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from lipgnn.catalog import CLASSES, ORDER, layers_for
from lipgnn.datasets.images import ImageDataset, identify_images, load_images
from lipgnn.errors import UsageError
from lipgnn.groups.grid import check_reach
from lipgnn.tasks.task import Task

if TYPE_CHECKING:
    import torch

    from lipgnn.network.images import ImageNetwork
    from lipgnn.spec.run import RunSpec
    from lipgnn.tasks.batches.images import ImageBatches
    from lipgnn.tasks.task import FurtherTable


class Images(Task):
    """One class for every image, measured by accuracy; the loss is the cross-entropy.

    All images share one graph, whose nodes are pairs of a pixel and a group element; they are a further axis of the
    features.
    """

    items = "images"
    metric = "accuracy"
    model = "gt"
    scored = (CLASSES, ORDER)
    has_classes = True
    outputs = "images"
    uncertified = "A certificate is about the features of nodes of one graph, and images are many."

    def defaults(self, dataset: str, model: str) -> dict[str, Any]:
        """What suits small images: residual sums of layers with BatchNorm, and an MLP behind each.

        LayerNorm, which the authors have over all pixels and which is over the channels of one pixel here, learned more
        slowly in trials with one seed.
        """
        return {
            "features": "raw",
            "layers": 3,
            "hidden": 8,
            "heads": 4,
            "norm": "batch",
            "norm_place": "branch",
            "residual": "identity",
            "mlp": "2x",
            "activation": "elu",
            "encoder_activation": "none",
            "bias": "layers",
            "dropout": 0.0,
            "layer_dropout": 0.0,
            "lr": 5e-3,
            "weight_decay": 0.0,
            "layer_weight_decay": "same",
            "schedule": "cosine",
            "batch_size": 16,
            "epochs": 30,
            "patience": 0,
            "select": "val_score",
        }

    def check(self, spec: RunSpec) -> None:
        if spec.model not in layers_for("images"):
            raise UsageError(
                f"Pixels know where they lie by the types of edges, which model {spec.model!r} does not tell apart.",
                f"Use --model {' or '.join(layers_for('images'))}.",
            )
        if spec.head_sharing != "none":
            raise UsageError(
                "Pixels know where they lie by the types of edges, which heads that share keys do not tell apart, and "
                f"--head-sharing is {spec.head_sharing}.",
                "Use --head-sharing none.",
            )

    def check_data(self, spec: RunSpec, dataset: ImageDataset) -> None:
        check_reach(dataset.side, spec.reach)

    def next_words(self, run: str) -> list[str]:
        return ["lipgnn", "evaluate", run, "--rotations"]

    def load(self, name: str, *, split: str, missing: float, features: str, data_dir: Path | None) -> ImageDataset:
        return load_images(name, split=split, missing=missing, features=features, data_dir=data_dir)

    def identify(self, name: str, *, split: str, data_dir: Path | None) -> str:
        return identify_images(name, split=split, data_dir=data_dir)

    def network(self, spec: RunSpec, num_features: int, num_classes: int) -> ImageNetwork:
        """For images of so many channels."""
        import torch

        from lipgnn.network.images import ImageNetwork

        return ImageNetwork(spec, num_features, num_classes).to(getattr(torch, spec.dtype))

    def batches(self, spec: RunSpec, dataset: ImageDataset, device: torch.device) -> ImageBatches:
        from lipgnn.tasks.batches.images import ImageBatches

        return ImageBatches(spec, dataset, device)

    def loss(self, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        from torch import nn

        return nn.functional.cross_entropy(logits, labels)

    def final_measures(self, spec: RunSpec, network: ImageNetwork, batches: ImageBatches) -> dict[str, float]:
        """The scores of turned and of mirrored images."""
        from lipgnn.tasks.rotations import measures_of

        return measures_of(spec, network, batches)

    def rotations(
        self, spec: RunSpec, dataset: ImageDataset, network: ImageNetwork, batches: ImageBatches
    ) -> dict[str, FurtherTable]:
        """Scores at every angle and mirrored, and the equivariance error of every layer."""
        from lipgnn.tasks.rotations import tables_of

        return tables_of(spec, dataset, network, batches)

    def looks(
        self, spec: RunSpec, dataset: ImageDataset, network: ImageNetwork, batches: ImageBatches, number: int
    ) -> dict[str, Any]:
        from lipgnn.tasks.rotations import looks_of

        if number >= (count := len(batches.parts["test"])):
            raise UsageError(
                f"--image {number} is no image of the test part, which has {count}.", f"Use 0 to {count - 1}."
            )
        return looks_of(spec, network, batches, number)
