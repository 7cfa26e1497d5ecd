"""Predictions for every item of a data set, as arrays and as columns of a table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from lipgnn.certify.bounds import layer_bounds, network_bound
from lipgnn.certify.perturbation import PerturbedNetwork
from lipgnn.certify.radius import certified_radii, margins
from lipgnn.datasets import Dataset
from lipgnn.errors import RunFailed, UsageError
from lipgnn.predict.layered import logits_in_parts
from lipgnn.tasks import TaskData, find_task
from lipgnn.tasks.batches import logits_of
from lipgnn.tasks.batches.batch import Batch
from lipgnn.tasks.saved import SavedModel

if TYPE_CHECKING:
    import pandas

# The first letters of a column with the probability of a class.
PROBABILITY = "p_"


@dataclass(frozen=True, eq=False)
class Prediction:
    """What a model says of N items with C classes, or C yes-or-no labels.

    It can be used as its array of probabilities: `numpy.asarray(prediction)` is (N, C), and so are slices of it.

    Attributes
    ----------
    ids : (N,) texts, what the items are called where they come from.
    classes : the names of the C classes or labels.
    probabilities : (N, C); rows sum to 1 where every item has one class.
    chosen : (N,) numbers of the most probable class; None of yes-or-no labels, as are the next two.
    margin : (N,), by how much the logit of that class leads the next: the logarithm of the ratio of their
        probabilities. None where there is one class alone.
    radius : (N,), a length: no change of all features together that is shorter takes its class from the item. None
        where it was not asked for.
    uncertified : why all radii are 0, if there is no bound.
    """

    ids: np.ndarray
    classes: tuple[str, ...]
    probabilities: np.ndarray
    chosen: np.ndarray | None = None
    margin: np.ndarray | None = None
    radius: np.ndarray | None = None
    uncertified: str | None = field(default=None, repr=False)

    @property
    def predicted(self) -> np.ndarray | None:
        """(N,) names of the most probable classes; None of yes-or-no labels."""
        return None if self.chosen is None else np.array(self.classes)[self.chosen]

    def columns(self) -> dict[str, np.ndarray]:
        """`id`, `predicted`, `probability` (of that class), `margin`, `radius`, and `p_CLASS` of every class."""
        found: dict[str, Any] = {"id": self.ids}
        if self.chosen is not None:
            best = np.take_along_axis(self.probabilities, self.chosen[:, None], axis=1)[:, 0]
            found |= {"predicted": self.predicted, "probability": best, "margin": self.margin, "radius": self.radius}
        found |= {f"{PROBABILITY}{name}": self.probabilities[:, k] for k, name in enumerate(self.classes)}
        return {name: column for name, column in found.items() if column is not None}

    def to_pandas(self) -> pandas.DataFrame:
        """The columns as a table, a row for every item."""
        import pandas

        return pandas.DataFrame(self.columns())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.probabilities, dtype=dtype) if copy else np.asarray(self.probabilities, dtype=dtype)

    def __len__(self) -> int:
        return len(self.probabilities)

    def __getitem__(self, key: Any) -> np.ndarray:
        return self.probabilities[key]

    def __iter__(self) -> Iterator[np.ndarray]:
        return iter(self.probabilities)

    def __repr__(self) -> str:
        return f"<Prediction for {len(self):,} items of {len(self.classes)} classes: {', '.join(self.classes[:5])}>"

    def _repr_html_(self) -> str:
        return self.to_pandas()._repr_html_()


@torch.no_grad()
def predict(
    saved: SavedModel, dataset: TaskData, device: torch.device, *, batch_size: int = 0, certify: bool = False
) -> Prediction:
    """Run the model without dropout on all items of a data set.

    Parameters
    ----------
    dataset : as `data_to_predict` or `prepared_to_predict` gives it; its labels are not looked at.
    batch_size : so many nodes at a time, each with all of its neighbours (see `logits_in_parts`); 0 is all at once.
    certify : find radii, which takes the whole graph at once, in float64.

    Raises
    ------
    UsageError : the model predicts neither classes nor labels, or its network cannot be cut into batches.
    RunFailed : there is not enough memory.
    """
    task, network = find_task(saved.task), saved.network.to(device).eval()
    task.check_predictable()
    if certify and task.uncertified:
        raise UsageError(task.uncertified, "Leave out --certify.")
    try:
        batches = find_task(dataset.task).batches(saved.spec, dataset, device)
        if batch_size:
            logits = logits_in_parts(network, *_graph_of(dataset, batches.whole()), batch_size)
        else:
            logits = logits_of(network, batches)
        certain = _radii(saved, batches.whole(), logits) if certify else (None, None)
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and "memory" not in str(error).lower():
            raise
        raise RunFailed("There is not enough memory for the whole graph.", "Use --batch-size 10000.") from error
    ids = getattr(getattr(dataset, "source", None), "node_ids", None)
    found = {"chosen": None, "margin": None}
    if task.has_classes:
        lead = _array(margins(logits)) if logits.shape[1] > 1 else None
        found = {"chosen": _array(logits.argmax(dim=1)), "margin": lead}
    names = saved.class_names or dataset.class_names or tuple(str(k) for k in range(logits.shape[1]))
    probabilities = _array(task.probabilities(logits))
    ids = np.arange(len(logits)).astype(str) if ids is None else ids
    return Prediction(ids, names, probabilities, **found, radius=certain[0], uncertified=certain[1])


def _graph_of(dataset: TaskData, batch: Batch) -> tuple[Any, torch.Tensor]:
    if not isinstance(dataset, Dataset):
        raise UsageError(
            f"Batches are of nodes of one graph, and data set {dataset.name!r} has many.", "Leave --batch-size out."
        )
    return batch.graph, batch.features


def _radii(saved: SavedModel, whole: Batch, logits: torch.Tensor) -> tuple[np.ndarray, str | None]:
    """The certified radius of every node's class, and why there is none."""
    if logits.shape[1] < 2:
        raise UsageError("A certificate is about which of several classes a node has, and there is one.")
    perturbed = PerturbedNetwork(saved.network, whole.graph, whole.features)
    bound = network_bound(perturbed.network, layer_bounds(perturbed.network, whole.graph))
    exact = perturbed(perturbed.origin)
    radii = certified_radii(margins(exact), bound.log10)
    # Where rounding decides about the class, none is certain.
    return _array(torch.where(exact.argmax(dim=1) == logits.argmax(dim=1), radii, 0.0)), bound.reason


def _array(tensor: torch.Tensor) -> np.ndarray:
    return tensor.cpu().numpy()
