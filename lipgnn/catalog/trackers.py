"""Names and descriptions of the trackers that runs can be logged by."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from lipgnn.catalog.entry import Entry, check_name


@dataclass(frozen=True)
class TrackerEntry(Entry):
    """Something that runs can be logged by.

    Attributes
    ----------
    package : what it needs to be installed, which is also the name of the extra that installs it; "" if nothing.
    """

    package: str = ""


TRACKERS: dict[str, TrackerEntry] = {
    "tensorboard": TrackerEntry(
        "TensorBoard, as files in the folder of the run",
        implementation="lipgnn.trackers.tensorboard:TensorBoard",
        package="tensorboard",
    ),
    "mlflow": TrackerEntry(
        "MLflow, as mlflow.db in the folder of results",
        implementation="lipgnn.trackers.mlflow:MLflow",
        package="mlflow",
    ),
    "wandb": TrackerEntry(
        "Weights & Biases, offline in the folder of the run unless you are logged in",
        implementation="lipgnn.trackers.wandb:WandB",
        package="wandb",
    ),
    "trackio": TrackerEntry(
        "Trackio, as the folder trackio in the folder of results",
        implementation="lipgnn.trackers.trackio:Trackio",
        package="trackio",
    ),
}


def tracker_names(texts: Iterable[str]) -> tuple[str, ...]:
    """The trackers that texts name, each once; a text may name several, with commas between them.

    Raises
    ------
    UsageError : a name is none of TRACKERS.
    """
    names = [name for text in texts for name in map(str.strip, text.split(",")) if name]
    for name in names:
        check_name("tracker", name, TRACKERS)
    return tuple(dict.fromkeys(names))


def installed_trackers(texts: Iterable[str], warn: Callable[[str], object]) -> tuple[str, ...]:
    """The same without those whose packages are not here; `warn` is called with a sentence for each of them.

    Raises
    ------
    UsageError : a name is none of TRACKERS.
    """
    names = tracker_names(texts)
    needed = {name: TRACKERS[name].package for name in names}
    missing = {name: package for name, package in needed.items() if package and not importlib.util.find_spec(package)}
    for name, package in missing.items():
        warn(f'Nothing is logged by {name}, which is not installed: pip install "lipgnn[{package}]"')
    return tuple(name for name in names if name not in missing)
