"""What was observed of a walker: from a list of nodes, a file of observations, or a trajectory of the data set."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lipgnn.datasets.formats.five_files import read_observations
from lipgnn.datasets.formats.number_lines import NumberLines
from lipgnn.datasets.trajectories import PathDataset
from lipgnn.datasets.windows import windows_of
from lipgnn.errors import DataError, UsageError
from lipgnn.spec.run import RunSpec

_IDS = re.compile(r"\d{1,18}(,\d{1,18})*", re.ASCII)
_TRAJECTORY = re.compile(r"trajectory:(\d{1,9}|test)(?::(\d{1,9}))?", re.ASCII)
_FORMS = "Give node ids between commas, a file of observations, or trajectory:T[:LENGTH]."


@dataclass(frozen=True, eq=False)
class Truth:
    """What became of a walker.

    Attributes
    ----------
    edges : (S,) int64, the path it took.
    target_nodes, target_weights : (k,), the observation it came to.
    """

    edges: np.ndarray
    target_nodes: np.ndarray
    target_weights: np.ndarray


@dataclass(frozen=True, eq=False)
class Prefix:
    """The observations that a model is shown, the last of which is where walkers start.

    Attributes
    ----------
    nodes, weights : (N, k) int64 and float64; a row of weights sums to 1, padding has weight 0.
    origin : where they come from, in words.
    truth : what followed, where that is known.
    """

    nodes: np.ndarray
    weights: np.ndarray
    origin: str
    truth: Truth | None = None


def prefix_of(text: str, dataset: PathDataset, spec: RunSpec) -> Prefix:
    """The last `spec.observed` observations of what a text says.

    Parameters
    ----------
    text : node ids between commas, each an observation of one node; `trajectory:T[:LENGTH]`, the first LENGTH
        observations of trajectory T of the data set, by default as many as are shown, where T is counted from 0 and
        `test` is the first of the test part that goes on behind them; or a file of observations as data sets have it,
        without its header.
    spec : of the run, which shows so many observations.

    Raises
    ------
    UsageError : a node or trajectory that there is not, too few observations, or a list of something else.
    DataError : a file that cannot be read, or is no list of observations.
    """
    if _IDS.fullmatch(text):
        found = _of_ids(text, dataset)
    elif match := _TRAJECTORY.fullmatch(text):
        return _of_trajectory(match[1], match[2], dataset, spec)
    elif text.startswith("trajectory:"):
        raise UsageError(f"{text!r} is no trajectory.", "Write trajectory:T or trajectory:T:LENGTH with whole numbers.")
    else:
        found = _of_file(text, dataset)
    if len(found.nodes) < spec.observed:
        raise UsageError(
            f"The model is shown {spec.observed} observations, and {found.origin} has {len(found.nodes)}.",
            f"Give at least {spec.observed}, the earliest first.",
        )
    return Prefix(found.nodes[-spec.observed :], found.weights[-spec.observed :], found.origin)


def _of_ids(text: str, dataset: PathDataset) -> Prefix:
    nodes = [int(word) for word in text.split(",")]
    for node in nodes:
        if node >= dataset.num_nodes:
            raise UsageError(
                f"There is no node {node} in data set {dataset.name!r}.", f"Its nodes are 0 to {dataset.num_nodes - 1}."
            )
    return Prefix(np.array(nodes)[:, None], np.ones((len(nodes), 1)), "the list of nodes")


def _of_file(text: str, dataset: PathDataset) -> Prefix:
    path = Path(text)
    try:
        there = path.is_file()
    except (OSError, ValueError):
        there = False
    if not there and (not text or "," in text):
        raise UsageError(f"The prefix {text!r} is no list of node ids.", _FORMS)
    if not there:
        raise DataError(f"The prefix {text!r} is neither a list of nodes nor a file.", _FORMS)
    lines = NumberLines(path, header=False)
    if not len(lines):
        raise lines.fault(0, "it has no observation")
    nodes, weights = read_observations(lines, max(int(lines.counts[0]) // 2, 1), dataset.num_nodes)
    return Prefix(nodes, weights / weights.sum(axis=1, keepdims=True), f"the file {path.name!r}")


def _of_trajectory(name: str, length: str | None, dataset: PathDataset, spec: RunSpec) -> Prefix:
    shown = spec.observed if length is None else int(length)
    trajectory = _first_tested(dataset, shown) if name == "test" else int(name)
    lengths = dataset.lengths
    if trajectory >= len(lengths):
        raise UsageError(
            f"There is no trajectory {trajectory} in data set {dataset.name!r}.",
            f"They are counted from 0 to {len(lengths) - 1}.",
        )
    if not spec.observed <= shown <= lengths[trajectory]:
        raise UsageError(
            f"Of trajectory {trajectory}, which has {lengths[trajectory]} observations, the first {shown} were asked "
            f"for, and the model is shown {spec.observed}.",
            f"Give a length from {spec.observed} on, and a trajectory that is at least as long.",
        )
    last = dataset.first_observation[trajectory] + shown
    rows = slice(last - spec.observed, last)
    return Prefix(
        dataset.observed_nodes[rows],
        dataset.observed_weights[rows],
        f"trajectory {trajectory}, observations {shown - spec.observed + 1} to {shown} of {lengths[trajectory]}",
        _truth(dataset, spec, trajectory, last - 1),
    )


def _first_tested(dataset: PathDataset, shown: int) -> int:
    tested = np.flatnonzero(dataset.split.parts["test"] & (dataset.lengths > shown))
    if not len(tested):
        raise UsageError(
            f"No trajectory of the test part has more than {shown} observations.", "Give the number of a trajectory."
        )
    return int(tested[0])


def _truth(dataset: PathDataset, spec: RunSpec, trajectory: int, start: int) -> Truth | None:
    """What follows an observation: up to the next one or to the last, as the model was trained; None at the end."""
    predicted = "next" if spec.predict in ("next", "between") else "destination"
    windows = windows_of(dataset, spec.observed, predicted)
    found = np.flatnonzero((windows.trajectory == trajectory) & (windows.start == start))
    if not len(found):
        return None
    (window,) = found
    target = windows.target[window]
    edges = windows.edges[windows.first_edge[window] : windows.first_edge[window + 1]]
    return Truth(edges, dataset.observed_nodes[target], dataset.observed_weights[target])
