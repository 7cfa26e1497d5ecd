"""NeighborsMatch: the root of a tree must learn the value of the leaf that has its key.

Reference: Alon & Yahav, "On the Bottleneck of Graph Neural Networks and its Practical Implications", ICLR 2021,
section 4.1 and their code.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from lipgnn.catalog import CLASSES, ORDER, SUMS_RECIPE
from lipgnn.datasets.generated.trees import TreeDataset, load_trees, parse_trees
from lipgnn.errors import UsageError
from lipgnn.tasks.task import Task

if TYPE_CHECKING:
    import torch

    from lipgnn.network.deep import DeepGNN
    from lipgnn.spec.run import RunSpec
    from lipgnn.tasks.batches.batch import Batches

_EVALUATIONS_OF_PATIENCE = 20


class NeighborsMatch(Task):
    """One class for the root of every tree, measured by accuracy; the loss is the cross-entropy.

    Every node is two numbers, a key and a value, which the encoder looks up in tables; the head has no bias. The
    protocol asks whether a network can take in that much at all, and looks at the training graphs alone.
    """

    items = "graphs"
    metric = "accuracy"
    scored = (CLASSES, ORDER)
    has_classes = True
    uncertified = "A certificate is about small changes of the features, and those of trees are whole numbers."

    def defaults(self, dataset: str, model: str) -> dict[str, Any]:
        """Options of a run by Alon & Yahav, who fit the training graphs.

        r + 1 layers of width 32, each x ← norm(x + σ(conv(x))) with LayerNorm, without σ for GAT, and GGNN as it is.
        Adam whose rate is halved after 10 evaluations without a better training accuracy; stop after 20, or at 1.0.

        Two layers are not theirs to the letter: the MLP of GIN ends with its second linear map, where theirs has
        BatchNorm and ReLU once more, and GCN divides by the out-edges of a source, where theirs counts its in-edges.
        """
        radius = parse_trees(dataset).radius
        gated = model == "ggnn"
        every = 1000 if radius == 2 else 100
        return {
            **SUMS_RECIPE,
            "features": "raw",
            "layers": radius + 1,
            "hidden": 8,
            "heads": 4,
            "norm": "none" if gated else "layer",
            "norm_place": "sum",
            "residual": "none" if gated else "identity",
            "activation": "relu" if model in ("gcn", "gin") else "none",
            "dropout": 0.0,
            "lr": 1e-3,
            "weight_decay": 0.0,
            "schedule": "halve",
            "select": "train_score",
            "batch_size": 64 if radius <= 3 else 1024 if radius <= 6 else 2048,
            "eval_every": every,
            "epochs": 50000,
            "patience": _EVALUATIONS_OF_PATIENCE * every,
        }

    def edges(self, dataset: str) -> int | None:
        """Every node has a self-loop, and all but the root an edge upwards."""
        try:
            trees = parse_trees(dataset)
        except UsageError:
            return None
        return trees.graphs * (2 * trees.nodes - 1)

    def is_smaller(self, dataset: str, other: str) -> bool:
        """`trees:5:250` is `trees:5` with fewer permutations."""
        return dataset.startswith(f"{other}:")

    def load(self, name: str, *, split: str, missing: float, features: str, data_dir: Path | None) -> TreeDataset:
        return load_trees(name, split=split, missing=missing, features=features)

    def identify(self, name: str, *, split: str, data_dir: Path | None) -> str:
        return load_trees(name, split=split).fingerprint

    def network(self, spec: RunSpec, num_features: int, num_classes: int) -> DeepGNN:
        import torch

        from lipgnn.network.deep import DeepGNN, unbiased_head
        from lipgnn.nn import KeyValueEmbedding

        def encoder(spec: RunSpec, size: int) -> KeyValueEmbedding:
            return KeyValueEmbedding(size, spec.width, spec.input_dropout)

        network = DeepGNN(spec, num_features, num_classes, encoder=encoder, head=unbiased_head)
        return network.to(getattr(torch, spec.dtype))

    def batches(self, spec: RunSpec, dataset: TreeDataset, device: torch.device) -> Batches:
        from lipgnn.tasks.batches.trees import TreeBatches

        return TreeBatches(spec, dataset, device)

    def loss(self, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        from torch import nn

        return nn.functional.cross_entropy(logits, labels)
