"""What is diagnosed: the network of a run or file, at its end or its start, or a new one by its options.

Importing this module imports no torch, so that wrong use is refused at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lipgnn.errors import UsageError
from lipgnn.results.run import Run
from lipgnn.results.store import Store
from lipgnn.spec.run import RunSpec
from lipgnn.spec.sources import resolve

if TYPE_CHECKING:
    from lipgnn.network.deep import DeepGNN
    from lipgnn.tasks import TaskData

INITIAL, TRAINED, GOOD = "initialization", "end of training", "last good state"


@dataclass(frozen=True, eq=False)
class Subject:
    """A network to look at.

    Attributes
    ----------
    spec, dataset : its run and its data.
    path : the model file it comes from; None if it is new.
    at : when in its training it is looked at: INITIAL, TRAINED, or GOOD, before it diverged.
    """

    network: DeepGNN
    spec: RunSpec
    dataset: TaskData
    path: Path | None
    at: str


@dataclass(frozen=True)
class SubjectRequest:
    """What is to be diagnosed, in the words of who asks.

    Attributes
    ----------
    reference : a run (see `Store.find`) or a model file; None for a new network.
    initial : whether to look at the network as it was before its training, as a new one always is.
    options : of the run of a new network; of a saved one, none but `device`.
    config, preset : where further options of a new network come from (see `lipgnn.spec.sources.resolve`).
    at : which state of the run (see `Store.find_model`).

    Raises
    ------
    UsageError : neither a reference nor a start, or a reference with options that it has itself.
    """

    reference: str | None
    initial: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    config: Path | None = None
    preset: str | None = None
    at: str | None = None

    def __post_init__(self) -> None:
        if self.reference is None and not self.initial:
            raise UsageError(
                "There is nothing to diagnose.", "Give a run or a model file, or --init with the options of a run."
            )
        given = {**self.options, "config": self.config, "preset": self.preset}
        own = sorted(name for name, value in given.items() if value is not None and name != "device")
        if self.reference is not None and own:
            option = own[0].replace("_", "-")
            raise UsageError(f"A run has its own --{option}.", "Leave it out, or leave out the run for a new network.")

    def subject(self, store: Store, environ: Mapping[str, str]) -> Subject:
        """The network that is meant, with its data.

        Raises
        ------
        DataError : a model or data that cannot be read, or data that has changed since the training.
        UsageError : an unknown run, name or option.
        """
        if self.reference is None:
            return new_subject(resolve(self.options, environ, self.config, self.preset).spec)
        return saved_subject(store.find_model(self.reference, self.at), initial=self.initial)


def saved_subject(path: Path, *, initial: bool = False) -> Subject:
    """The network of a model file, or the one that its training began with.

    Raises
    ------
    DataError : the model or its data cannot be read, or the data has changed since the training.
    """
    from lipgnn.evaluate import data_for
    from lipgnn.tasks.saved import load_model

    saved = load_model(path)
    dataset = data_for(saved)
    if initial:
        return Subject(first_network(saved.spec, dataset), saved.spec, dataset, path, INITIAL)
    return Subject(saved.network, saved.spec, dataset, path, state_of(path))


def state_of(path: Path) -> str:
    """Of which time in its training the network of a model file is."""
    return GOOD if path.name == Run(path.parent).last_good_path.name else TRAINED


def new_subject(spec: RunSpec) -> Subject:
    """The network that the training of a run would begin with."""
    from lipgnn.tasks import load

    dataset = load(spec.dataset, split=spec.split, missing=spec.missing, features=spec.features)
    return Subject(first_network(spec, dataset), spec, dataset, None, INITIAL)


def first_network(spec: RunSpec, dataset: TaskData) -> DeepGNN:
    """The network that the training of a run begins with."""
    from lipgnn.runtime import seed_all
    from lipgnn.tasks import find_task

    seed_all(spec.seed)
    return find_task(dataset.task).network(spec, *dataset.shape)
