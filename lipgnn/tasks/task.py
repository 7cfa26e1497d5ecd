"""The contract of a task: what is predicted, on which data, in which batches, and how it is scored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from lipgnn.catalog import AUTO_METRIC
from lipgnn.datasets.source import Split
from lipgnn.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    import torch

    from lipgnn.network.deep import DeepGNN
    from lipgnn.spec.run import RunSpec
    from lipgnn.tasks.batches.batch import Batches


class TaskData(Protocol):
    """What a task needs of its data, whatever else it has.

    Attributes
    ----------
    name : as it was asked for.
    task : the name of its task, one of `lipgnn.catalog.TASKS`.
    fingerprint : 16 hex digits of the data and the split.
    split : masks over the items.
    shape : the numbers that a network is made for: the widths of its input and output, where it has these, and how many
        types of edges there are, where they have such.
    class_names : a name per output, if known.
    labels_array : the labels of all items, where a metric of them may be asked for.
    """

    name: str
    task: str
    fingerprint: str
    split: Split
    shape: tuple[int, ...]
    class_names: tuple[str, ...] | None
    labels_array: np.ndarray


def remarks_on(dataset: TaskData) -> tuple[str, ...]:
    """What a reader should know of data before training, a sentence each (see `lipgnn.datasets.dataset.Dataset`)."""
    return getattr(dataset, "remarks", ())


@dataclass(frozen=True)
class FurtherTable:
    """A table of an evaluation that is of one task alone.

    Attributes
    ----------
    title : what it shows.
    rows : the values of every row by the names of their columns, the same in all; None where there is none.
    decimals : how many digits of the numbers of a column are shown behind the point; four in all of the others.
    notes : what a reader should know of it, a sentence each.
    """

    title: str
    rows: Sequence[Mapping[str, Any]]
    decimals: Mapping[str, int] = field(default_factory=dict)
    notes: Sequence[str] = ()


class Task:
    """Base of the tasks. A task is one class in one file, and one line in `lipgnn.catalog.TASKS`.

    Its module imports torch where it is needed, inside methods: the protocol of a task is asked for before torch is
    loaded. What a subclass does not say is taken for the careful case.

    Attributes
    ----------
    items : the word for what is predicted, such as "nodes".
    metric : the name of its score where nothing else is asked for, one of `lipgnn.catalog.METRICS`.
    model : the kind of layer of runs that name none; None where that is the built-in one.
    scored : what metrics that are asked for in its place can be about (see `lipgnn.catalog.MetricEntry`).
    has_classes : whether every item has one class, of which a confusion matrix can be made.
    uncertified : why no certificate can be given for its predictions, and None where one can.
    least_layers : how many layers a network has at least; 0 where one linear map of the features will do.
    encoder_optional : whether its networks can be without an encoder, their first layer taking the features themselves.
    outputs : the word for what its outputs are of, where these are not nodes of a graph, such as "walks".
    """

    items: str
    metric: str
    model: str | None = None
    scored: tuple[str, ...] = ()
    has_classes = False
    least_layers = 1
    encoder_optional = False
    uncertified: str | None = "A certificate is about which of several classes an item has."
    outputs = "nodes"

    def defaults(self, dataset: str, model: str) -> dict[str, Any]:
        """Run options of the protocol that comes with a data set of this task, for a kind of layer."""
        return {}

    def following(self, spec: RunSpec) -> dict[str, Any]:
        """Defaults of its own options that follow from others of a run, in place of those that the options have."""
        return {}

    def check(self, spec: RunSpec) -> None:
        """Refuse options that this task cannot be trained with.

        Raises
        ------
        UsageError : says which, and what to do.
        """

    def check_data(self, spec: RunSpec, dataset: TaskData) -> None:
        """Refuse options that do not fit the data, once it is read.

        Raises
        ------
        UsageError : says which, and what to do.
        """

    def next_words(self, run: str) -> list[str]:
        """The words of a command that is worth typing after a run of this task, and of no other; none, maybe."""
        return []

    def metric_of(self, dataset: str) -> str | None:
        """The metric of a data set as its name tells it; None where the data has to be read for that."""
        return self.metric

    def metric_for(self, asked: str) -> str:
        """The name of the metric that a run of this task asks for."""
        return self.metric if asked == AUTO_METRIC else asked

    def edges(self, dataset: str) -> int | None:
        """How many edges a layer goes over in an epoch; None where that cannot be known."""
        return None

    def is_smaller(self, dataset: str, other: str) -> bool:
        """Whether a data set is a smaller form of another one, so that its results can be put beside the other's."""
        return False

    def load(self, name: str, *, split: str, missing: float, features: str, data_dir: Path | None) -> TaskData:
        """Read or make the data; options and errors are those of `lipgnn.tasks.load`."""
        raise NotImplementedError

    def identify(self, name: str, *, split: str, data_dir: Path | None) -> str:
        """The fingerprint of the data, whatever the feature options."""
        raise NotImplementedError

    def network(self, spec: RunSpec, num_features: int, num_classes: int, edge_types: int = 0) -> DeepGNN:
        """The network of a run for data of a shape: new weights, in its floating-point type, on the CPU."""
        import torch

        from lipgnn.network.deep import DeepGNN

        return DeepGNN(spec, num_features, num_classes, edge_types=edge_types).to(getattr(torch, spec.dtype))

    def batches(self, spec: RunSpec, dataset: TaskData, device: torch.device) -> Batches:
        """What a run trains on step by step, and is evaluated on."""
        raise NotImplementedError

    def loss(self, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """What training makes small; logits (B, C) and the labels of the same items."""
        raise NotImplementedError

    def weight(self, labels: torch.Tensor) -> torch.Tensor:
        """How much some items weigh in the loss of a batch beside others, from their labels: by their number.

        The loss of a batch is the mean of the losses of its parts, each by the weight of its items.
        """
        import torch

        return torch.tensor(float(len(labels)), dtype=torch.float64, device=labels.device)

    def score(self, logits: torch.Tensor, labels: torch.Tensor, metric: str = AUTO_METRIC) -> torch.Tensor:
        """A metric, by default the task's: a number in double precision on the device of the logits, shapes as `loss`.

        It is not a number where `lipgnn.tasks.measured` would refuse the labels.
        """
        from lipgnn.tasks.metrics import SCORES

        return SCORES[self.metric_for(metric)](logits, labels)

    def check_predictable(self) -> None:
        """Refuse to say the class of an item where it has none.

        Raises
        ------
        UsageError : says why, and what to do.
        """
        if not self.has_classes:
            raise UsageError(f"What is predicted are classes or labels, and {self.items} of this model have neither.")

    def probabilities(self, logits: torch.Tensor) -> torch.Tensor:
        """Of the classes of every item, (B, C); of yes-or-no labels, of a yes."""
        return logits.softmax(dim=1)

    def measures(self, outputs: torch.Tensor, labels: torch.Tensor) -> dict[str, float]:
        """Further numbers of its predictions, by names of `lipgnn.catalog.MEASURES`; shapes as `loss`."""
        return {}

    def final_measures(self, spec: RunSpec, network: DeepGNN, batches: Batches) -> dict[str, float]:
        """Such numbers that need the network, of the test part; computed once, with the weights selected.

        Parameters
        ----------
        network : in evaluation mode, on the device of the batches.
        """
        return {}

    def rotations(
        self, spec: RunSpec, dataset: TaskData, network: DeepGNN, batches: Batches
    ) -> dict[str, FurtherTable]:
        """What becomes of the test part where it is turned and mirrored; parameters as in `further_tables`.

        Raises
        ------
        UsageError : this task has nothing to turn.
        """
        raise UsageError(f"--rotations is of images, and data set {dataset.name!r} has {self.items}.", "Leave it out.")

    def looks(
        self, spec: RunSpec, dataset: TaskData, network: DeepGNN, batches: Batches, number: int
    ) -> dict[str, Any]:
        """Where the network looks in an item of the test part, for the figure attention; parameters as there.

        Raises
        ------
        UsageError : this task has no image to draw, or not so many.
        """
        raise UsageError(
            f"--figure attention is of images, and data set {dataset.name!r} has {self.items}.", "Leave it out."
        )

    def further_tables(
        self, spec: RunSpec, dataset: TaskData, network: DeepGNN, batches: Batches
    ) -> dict[str, FurtherTable]:
        """What an evaluation shows of the test part beside scores, each by a name of its own.

        Parameters
        ----------
        network : in evaluation mode, on the device of the batches.
        """
        return {}
