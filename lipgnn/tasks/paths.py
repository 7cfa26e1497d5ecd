"""Paths: where a walker goes that was observed a few times on its way.

Reference: Cordonnier & Loukas, "Extrapolating paths with graph neural networks", IJCAI 2019.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from lipgnn.catalog import AUTO_METRIC, CHOICES, dataset_entry
from lipgnn.datasets.paths import load_paths
from lipgnn.errors import UsageError
from lipgnn.tasks.task import Task

if TYPE_CHECKING:
    import torch

    from lipgnn.datasets.trajectories import PathDataset
    from lipgnn.network.paths import PathNetwork
    from lipgnn.spec.run import RunSpec
    from lipgnn.tasks.batches.windows import WindowBatches
    from lipgnn.tasks.task import FurtherTable

# As the authors have them for traces.
_DIFFUSION = {"layers": 60, "lr": 0.01}


class Paths(Task):
    """The edges that a walker takes next, and where it comes to, of windows of a trajectory.

    An output is a row of `lipgnn.walks.outcomes.OUTCOMES` for every window, or the loss alone. The loss of a batch is
    the mean over trajectories of the means over their windows, as the authors have it; the score is the share of the
    edges of true paths that had the largest probability.
    """

    items = "windows"
    metric = "choice-accuracy"
    scored = (CHOICES,)
    uncertified = "A certificate is about which of several classes an item has, and walks have none."
    outputs = "walks"

    def defaults(self, dataset: str, model: str) -> dict[str, Any]:
        """What suits few trajectories on a large graph: no dropout, no weight decay, steps of five trajectories."""
        entry = dataset_entry(dataset)
        return {
            "features": "raw",
            "dropout": 0.0,
            "layer_dropout": 0.0,
            # With plain sums and twice the rate eight layers learn and 32 do not (study `paths`).
            "residual": "scaled",
            "weight_decay": 0.0,
            "layer_weight_decay": "same",
            "lr": 0.005,
            "batch_size": 5,
            "epochs": 20,
            "patience": 0,
            "select": "val_loss",
            **(entry.defaults if entry else {}),
            **({**_DIFFUSION, **(entry.diffusion if entry else {})} if model == "diffusion" else {}),
        }

    def following(self, spec: RunSpec) -> dict[str, Any]:
        """A walker that may go back is trained as one."""
        return {"loss": "nll"} if spec.walk == "plain" else {}

    def check_predictable(self) -> None:
        raise UsageError(
            "What is predicted are classes or labels, and this model predicts where paths go on to.",
            "Use lipgnn extrapolate.",
        )

    def check(self, spec: RunSpec) -> None:
        if spec.loss == "nll-nb" and spec.walk != "nb":
            raise UsageError(
                f"--loss nll-nb is of walkers that do not go back, and --walk is {spec.walk}.", "Use --loss nll."
            )
        if spec.transitions == "learned" and spec.model != "diffusion":
            raise UsageError(
                f"--transitions learned is of model diffusion, and the model is {spec.model!r}.", "Leave it out."
            )

    def next_words(self, run: str) -> list[str]:
        return ["lipgnn", "extrapolate", run, "--prefix", "trajectory:test", "--samples", "5"]

    def load(self, name: str, *, split: str, missing: float, features: str, data_dir: Path | None) -> PathDataset:
        return load_paths(name, split=split, missing=missing, features=features, data_dir=data_dir)

    def identify(self, name: str, *, split: str, data_dir: Path | None) -> str:
        return load_paths(name, split=split, data_dir=data_dir).fingerprint

    def network(self, spec: RunSpec, num_features: int, num_classes: int) -> PathNetwork:
        """For data whose nodes and edges have so many features."""
        import torch

        from lipgnn.network.paths import path_network

        return path_network(spec, num_features, num_classes).to(getattr(torch, spec.dtype))

    def batches(self, spec: RunSpec, dataset: PathDataset, device: torch.device) -> WindowBatches:
        from lipgnn.tasks.batches.windows import WindowBatches

        return WindowBatches(spec, dataset, device)

    def loss(self, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return (logits[:, 0] * labels).sum() / labels.sum()

    def weight(self, labels: torch.Tensor) -> torch.Tensor:
        return labels.double().sum()

    def score(self, logits: torch.Tensor, labels: torch.Tensor, metric: str = AUTO_METRIC) -> torch.Tensor:
        from lipgnn.walks.outcomes import OUTCOMES

        totals = logits.double().sum(dim=0)
        return totals[OUTCOMES.index("hits")] / totals[OUTCOMES.index("decisions")]

    def measures(self, outputs: torch.Tensor, labels: torch.Tensor) -> dict[str, float]:
        from lipgnn.walks.outcomes import measures_of

        return measures_of(outputs)

    def further_tables(
        self, spec: RunSpec, dataset: PathDataset, network: PathNetwork, batches: WindowBatches
    ) -> dict[str, FurtherTable]:
        """All measures of the model and of two uniform walks, of all windows and by horizon."""
        from lipgnn.tasks.walkers import tables_of

        return tables_of(spec, dataset, network, batches)
