"""How `lipgnn extrapolate` shows what it found."""

from __future__ import annotations

import csv
import io
import itertools
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cli import console
from lipgnn.errors import DataError

if TYPE_CHECKING:
    from lipgnn.datasets.trajectories import PathDataset
    from lipgnn.extrapolate import Extrapolation

FIGURES = ("map",)
COLUMNS = ("kind", "node", "nodes", "edges", "start_probability", "probability", "log_probability")
# As many continuations as are read at a glance, and as many nodes of each.
MOST_ROWS, MOST_NODES = 20, 12
_WALKS = {"plain": "plain", "nb": "without turning back"}


def show(found: Mapping[str, Any]) -> None:
    """A summary, the ends, and the continuations where there are some."""
    walked = f"{found['steps']} step{'' if found['steps'] == 1 else 's'}, {_WALKS[found['walk']]}"
    facts = [
        ("data set", f"{found['dataset']} ({found['fingerprint']})"),
        ("prefix", found["origin"]),
        ("observed", " → ".join(_observation(one) for one in found["prefix"])),
        ("walk", f"{walked}; {found['reached']} nodes can be reached"),
    ]
    if truth := found["truth"]:
        facts += [
            ("true path", f"{_sequence(truth['nodes'])}: {_likely(truth)}"),
            ("true target", f"{_observation(truth['target'])}: probability {truth['target_probability']:.4g} in all"),
        ]
    console.print_panel(found["model"], facts)
    target = {one["node"] for one in truth["target"]} if truth else set()
    columns = ["node", "probability", *(["target"] if truth else [])]
    rows = ([end["node"], end["probability"], *([end["node"] in target] if truth else [])] for end in found["ends"])
    console.print_table(columns, rows, title="Most probable ends")
    if found["samples"]:
        _show_samples(found["samples"])
    if found["likelihoods"]:
        rows = [
            [one["log_probability"], one["probability"], one["start_probability"], _sequence(one["nodes"])]
            for one in found["likelihoods"]
        ]
        title = "Likelihood of the given continuations"
        _show_continuations(("log", "probability", "of start", "nodes"), rows, title)


def to_csv(found: Mapping[str, Any]) -> str:
    """A row for every end, sample and given continuation, and for the true path; see COLUMNS."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows({"kind": "end", **end} for end in found["ends"])
    truth = [found["truth"]] if found["truth"] else []
    for kind, paths in (("sample", found["samples"]), ("likelihood", found["likelihoods"]), ("truth", truth)):
        for one in paths:
            row = {name: value for name, value in one.items() if name in COLUMNS}
            edges = " ".join("-" if edge is None else str(edge) for edge in one.get("edges", ()))
            nodes = " ".join(map(str, one["nodes"]))
            log = "-inf" if one["log_probability"] is None else one["log_probability"]
            writer.writerow({**row, "kind": kind, "nodes": nodes, "edges": edges, "log_probability": log})
    return text.getvalue()


def picture(found: Extrapolation, data: PathDataset, suffix: str) -> bytes:
    """The map.

    Raises
    ------
    DataError : nobody knows where the nodes lie.
    """
    if data.coordinates is None:
        raise DataError(
            f"Data set {data.name!r} does not say where its nodes lie, so there is no map.",
            "Leave --figure out, or give the nodes longitude and latitude as their two features.",
        )
    import numpy as np

    from lipgnn.report.figures.map import draw_map

    edges = np.stack([data.sources, data.targets])
    return draw_map(found.to_dict(), data.coordinates, edges, f"{data.name}, {found.prefix.origin}", suffix)


def _show_samples(samples: list[Mapping[str, Any]]) -> None:
    """Every continuation once, the most frequent first, with how often it was drawn."""
    drawn = Counter(tuple(one["nodes"]) for one in samples)
    by_nodes = {tuple(one["nodes"]): one for one in samples}
    rows = []
    for nodes, one in sorted(by_nodes.items(), key=lambda item: (-drawn[item[0]], -_jointly(item[1]), item[0])):
        rows.append([drawn[nodes], one["probability"], one["start_probability"], _sequence(nodes)])
    title = f"Continuations drawn, {len(samples)} in all"
    _show_continuations(("drawn", "probability", "of start", "nodes"), rows, title)


def _show_continuations(columns: tuple[str, ...], rows: list[list[Any]], title: str) -> None:
    below = ["probability: of the edges, given the start; of start: that of the first node."]
    if len(rows) > MOST_ROWS:
        below.append(f"{len(rows) - MOST_ROWS} more are left out; --json and --csv have them.")
    console.print_table(columns, rows[:MOST_ROWS], title=title, below=below)


def _sequence(nodes: Any) -> str:
    """Nodes one after the other, one that the walker stays at once; of many, those in the middle are left out."""
    runs = [(node, len(list(same))) for node, same in itertools.groupby(nodes)]
    words = [str(node) if count == 1 else f"{node} (×{count})" for node, count in runs]
    if len(words) > MOST_NODES:
        half = MOST_NODES // 2
        words = [*words[:half], f"… {len(words) - 2 * half} more …", *words[-half:]]
    return " ".join(words)


def _observation(observation: list[Mapping[str, Any]]) -> str:
    """The most probable node of an observation, and how many there are beside it."""
    best = max(observation, key=lambda one: one["weight"])
    return f"{best['node']}" + (f" (+{len(observation) - 1})" if len(observation) > 1 else "")


def _jointly(one: Mapping[str, Any]) -> float:
    return one["start_probability"] * one["probability"]


def _likely(one: Mapping[str, Any]) -> str:
    if one["log_probability"] is None:
        return "no walker takes it"
    return f"log-likelihood {one['log_probability']:.4g}, given its first node"
