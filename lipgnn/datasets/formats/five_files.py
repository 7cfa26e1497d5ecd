"""Gretel's folders (Cordonnier & Loukas 2019): a graph and trajectories on it, as five files of numbers between tabs.

    nodes.txt         count, features     id, its features; ids are 0, 1, 2, … here and below
    edges.txt         count, features     id, source, target, its features; edges_only.txt where there are none
    lengths.txt       no header           trajectory, how many observations it has
    observations.txt  count, k            k times node, weight; the weights of a line sum to 1
    paths.txt         count, longest leg  the edges from an observation to the next one of its trajectory

The first line has the counts. Observations, and legs, stand in the order of their trajectories; a trajectory has one
leg fewer. A leg is a path, and begins where the leg before ended or with one of its edges: an observation that lies on
an edge has it in both legs.

Two features of the nodes that are degrees of longitude and latitude, and not both from 0 to 1, are coordinates and no
features, as in the authors' experiments.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from lipgnn.catalog import EDGES_ALONE, PATH_FILES, PathsEntry, dataset_entry, is_path_folder
from lipgnn.datasets.formats.number_lines import NumberLines
from lipgnn.datasets.trajectories import PathDataset, made
from lipgnn.datasets.windows import joints

TOLERANCE = 1e-3
"""How far the sum of the weights of an observation may be from 1."""

FEWEST = 10
"""Trajectories: with fewer, nothing would be left to validate on."""


def read_five_files(path: Path, *, name: str | None = None) -> PathDataset:
    """Read the folder `path`.

    What the catalog knows of a data set, by `name` or by the end of the path, holds for it: which lengths of
    trajectories count, and whether its weights are known to sum to less than 1.

    Raises
    ------
    DataError : a file is missing or does not follow the format; the message names file and line.
    """
    name = name or path.name
    entry = dataset_entry(name) or dataset_entry(str(path))
    known = entry if isinstance(entry, PathsEntry) else PathsEntry("")
    files = {file: path / f"{file}.txt" for file in PATH_FILES}
    if not files["edges"].exists() and (path / f"{EDGES_ALONE}.txt").exists():
        files["edges"] = path / f"{EDGES_ALONE}.txt"
    node_features = _nodes(_under_header(files["nodes"]))
    edges, edge_features = _edges(_under_header(files["edges"]), len(node_features))
    observations = _under_header(files["observations"])
    observed = read_observations(observations, observations.header[1], len(node_features), cut=known.cut_weights)
    legs = _under_header(files["paths"])
    lengths = _lengths(NumberLines(files["lengths"], header=False), len(observations), len(legs), known.counted)
    leg_edges = _legs(legs, edges, lengths)
    placed = _are_coordinates(node_features)
    return made(
        name,
        node_features=node_features[:, :0] if placed else node_features,
        edges=edges,
        edge_features=edge_features,
        observed_nodes=observed[0],
        observed_weights=observed[1],
        lengths=lengths,
        leg_edges=leg_edges,
        leg_lengths=legs.counts,
        coordinates=node_features if placed else None,
        counted=known.counted,
    )


class FiveFiles:
    """Such folders as a `lipgnn.datasets.formats.Format`; what it reads are trajectories."""

    description = "a folder of Gretel's five files (nodes.txt, edges.txt, lengths.txt, observations.txt, paths.txt)"
    read = staticmethod(read_five_files)

    def recognizes(self, path: Path) -> bool:
        return is_path_folder(path)


def _under_header(path: Path) -> NumberLines:
    lines = NumberLines(path, header=True)
    if not len(lines):
        raise lines.fault(-1, "it has no lines below its header")
    return lines


def _nodes(lines: NumberLines) -> np.ndarray:
    """(N, F) float64."""
    width = lines.header[1]
    lines.check_width(1 + width)
    _check_ids(lines)
    return lines.reals(range(1, 1 + width))


def _edges(lines: NumberLines, num_nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """(2, E) int64 and (E, F) float64."""
    width = lines.header[1]
    lines.check_width(3 + width)
    _check_ids(lines)
    edges = np.stack([lines.column(1), lines.column(2)])
    _check_known(lines, edges.T, num_nodes, "node")
    return edges, lines.reals(range(3, 3 + width))


def read_observations(
    lines: NumberLines, width: int, num_nodes: int, *, cut: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """The nodes (O, k) int64 of observations, and their weights (O, k) float64.

    Parameters
    ----------
    width : k, how many nodes an observation has.
    cut : whether weights may sum to less than 1.

    Raises
    ------
    DataError : lines that are no observations; the message names file and line.
    """
    if not width:
        raise lines.fault(-1, "an observation has no node")
    lines.check_width(2 * width)
    nodes = np.stack([lines.column(place) for place in range(0, 2 * width, 2)], axis=1)
    _check_known(lines, nodes, num_nodes, "node")
    weights = lines.reals(range(1, 2 * width, 2))
    lines.refuse((weights < 0).any(axis=1), "a weight is negative")
    sums = weights.sum(axis=1)
    wrong = (sums <= 0) | (sums > 1 + TOLERANCE) if cut else np.abs(sums - 1) > TOLERANCE
    if wrong.any():
        row = int(wrong.argmax())
        raise lines.fault(row, f"its weights sum to {sums[row]:.6g} and not to 1", "Divide each by their sum.")
    ordered = np.sort(np.where(weights > 0, nodes, -1 - np.arange(width)), axis=1)
    lines.refuse((ordered[:, 1:] == ordered[:, :-1]).any(axis=1), "it has a node twice")
    return nodes, weights


def _lengths(lines: NumberLines, observations: int, legs: int, counted: tuple[int, int] | None) -> np.ndarray:
    """(T,) int64."""
    lines.check_width(2)
    if not len(lines):
        raise lines.fault(0, "it has no trajectory")
    names, lengths = lines.texts(0), lines.column(1)
    if len(set(names)) != len(names):
        first_of_each = np.unique(names, return_index=True)[1]
        row = np.setdiff1d(np.arange(len(names)), first_of_each)[0]
        raise lines.fault(row, f"trajectory {names[row]} is there more than once")
    lines.refuse(lengths < 1, "a trajectory has no observation")
    lines.refuse(lengths > observations, f"a trajectory is longer than observations.txt with its {observations} lines")
    for file, given, sums in (
        ("observations.txt", observations, np.cumsum(lengths)),
        ("paths.txt", legs, np.cumsum(lengths - 1)),
    ):
        if sums[-1] != given:
            # The line with which there are too many, or else the last.
            row = min(int(np.searchsorted(sums, given, side="right")), len(sums) - 1)
            raise lines.fault(row, f"in all, {sums[-1]} lines of {file} are announced, and it has {given}")
    low, high = counted or (0, np.inf)
    valid = int(((lengths >= low) & (lengths <= high)).sum())
    if valid < FEWEST:
        of = f" of {low} to {high} observations" if counted else ""
        raise lines.fault(len(lengths) - 1, f"there are {valid} trajectories{of}, too few to train, validate and test")
    return lengths


def _legs(lines: NumberLines, edges: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """(S,) int64, the edges of all legs."""
    lines.refuse(lines.counts == 0, "a leg has no edge")
    longest = int(lines.counts.max(initial=0))
    if lines.header[1] != longest:
        raise lines.fault(-1, f"legs of up to {lines.header[1]} edges are announced, and the longest has {longest}")
    leg_edges = lines.everything()
    row = np.repeat(np.arange(len(lines)), lines.counts)
    unknown = (leg_edges < 0) | (leg_edges >= edges.shape[1])
    if unknown.any():
        place = int(unknown.argmax())
        raise lines.fault(row[place], f"edge {leg_edges[place]} is none of 0 to {edges.shape[1] - 1}")
    sources, targets = edges
    torn = (row[1:] == row[:-1]) & (targets[leg_edges[:-1]] != sources[leg_edges[1:]])
    if torn.any():
        place = int(torn.argmax())
        first, second = leg_edges[place : place + 2]
        ends = f"ends in node {targets[first]}, and edge {second} begins in node {sources[second]}"
        raise lines.fault(row[place], f"its path is torn: edge {first} {ends}")
    _check_joints(lines, edges, lengths, leg_edges)
    return leg_edges


def _check_joints(lines: NumberLines, edges: np.ndarray, lengths: np.ndarray, leg_edges: np.ndarray) -> None:
    """Refuse a leg that does not meet the one before it in its trajectory."""
    first = np.concatenate([[0], np.cumsum(lines.counts)])
    apart = joints(*edges, leg_edges, first) < 0
    follows = np.ones(len(lines) + 1, dtype=bool)
    follows[np.cumsum(lengths - 1)] = False  # the first leg of a trajectory has none before it
    torn = np.concatenate([[False], apart[:-1]]) & follows[: len(lines)]
    lines.refuse(torn, "its path begins neither where the leg of the line before ends nor with an edge of it")


def _check_ids(lines: NumberLines) -> None:
    ids = lines.column(0)
    if (wrong := ids != np.arange(len(ids))).any():
        row = int(wrong.argmax())
        raise lines.fault(row, f"id {ids[row]} stands where {row} is due", "Ids are 0, 1, 2, … in this order.")


def _check_known(lines: NumberLines, ids: np.ndarray, count: int, kind: str) -> None:
    """Refuse (L, columns) ids outside 0..count−1."""
    unknown = (ids < 0) | (ids >= count)
    if unknown.any():
        row, column = np.argwhere(unknown)[0]
        raise lines.fault(row, f"{kind} {ids[row, column]} is none of 0 to {count - 1}")


def _are_coordinates(features: np.ndarray) -> bool:
    if features.shape[1] != 2:
        return False
    on_earth = (np.abs(features) <= (180, 90)).all()
    return bool(on_earth and not ((features >= 0) & (features <= 1)).all())
