"""A model of paths beside walks that know nothing: measures of all windows, and by horizon.

Reference: Cordonnier & Loukas, "Extrapolating paths with graph neural networks", IJCAI 2019.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from lipgnn.catalog import PATH_MEASURES, WALKERS, horizon_words
from lipgnn.datasets.hops import count_hops
from lipgnn.datasets.trajectories import PathDataset
from lipgnn.network.paths import PathNetwork
from lipgnn.spec.horizon import horizon_groups
from lipgnn.spec.run import RunSpec
from lipgnn.tasks.batches.windows import WindowBatches
from lipgnn.tasks.task import FurtherTable
from lipgnn.walks import continuations_size, walk
from lipgnn.walks.graph import MOST_CONTINUATIONS
from lipgnn.walks.outcomes import OUTCOMES, Scene, measures_of, outcomes
from lipgnn.walks.standing import harmonic_ranks, mass_by_node, pairwise_credits

MODEL, UNIFORM, UNIFORM_NB = WALKERS

STANDING = ("target_rank", "pairwise_accuracy")
"""Measures of data whose observations are single nodes, as in Wikispeedia (see `lipgnn.walks.standing`)."""

Measures = dict[str, float | None]

_DECIMALS = {name: 3 if entry.fraction else 2 for name, entry in PATH_MEASURES.items()} | {
    "target_rank": 2,
    "pairwise_accuracy": 3,
}


def tables_of(
    spec: RunSpec, dataset: PathDataset, network: PathNetwork, batches: WindowBatches
) -> dict[str, FurtherTable]:
    """The tables of an evaluation: `walks`, of the whole test part, and `horizons`, by the steps of the walk."""
    kinds = {MODEL: spec.walk, **uniform_kinds(dataset)}
    rows = rows_of(batches, kinds, network, Rivals(dataset) if has_single_nodes(dataset) else None)
    horizons = rows[MODEL][:, OUTCOMES.index("horizon")].long().tolist()
    notes = [
        *(f"{name}: {WALKERS[name].description}." for name in (UNIFORM, UNIFORM_NB)),
        f"Steps of a walk: {horizon_words(spec.horizon)}.",
    ]
    if UNIFORM_NB not in kinds:
        notes.append(f"{UNIFORM_NB} is left out: too many edges may follow each other to go over all such pairs.")
    title = f"Test, {len(horizons)} windows"
    walks = [{"walk": name, **measured(rows.get(name))} for name in WALKERS]
    groups = horizon_groups(Counter(horizons))
    by_horizon = [row for group in groups for row in _rows_of_group(rows, horizons, group)]
    return {
        "walks": FurtherTable(title, walks, _DECIMALS, notes),
        "horizons": FurtherTable(f"{title}, by the steps of the walk", by_horizon, _DECIMALS),
    }


def uniform_kinds(dataset: PathDataset) -> dict[str, str]:
    """The uniform walks with the kind of each, but for one that would take too long on this graph."""
    ends = (torch.tensor(dataset.sources, device="cpu"), torch.tensor(dataset.targets, device="cpu"))
    few = continuations_size(*ends, dataset.num_nodes) <= MOST_CONTINUATIONS
    return {UNIFORM: "plain", **({UNIFORM_NB: "nb"} if few else {})}


@torch.no_grad()
def rows_of(
    batches: WindowBatches,
    kinds: Mapping[str, str],
    network: PathNetwork | None = None,
    rivals: Rivals | None = None,
) -> dict[str, torch.Tensor]:
    """What walks come to in every window of the test part, (W, M + 2) each: OUTCOMES and STANDING.

    Parameters
    ----------
    kinds : plain or nb for each of WALKERS that is looked at.
    network : gives the logits of MODEL.
    rivals : who else could have been the target; STANDING is NaN if None.
    """
    found: dict[str, list[torch.Tensor]] = {name: [] for name in kinds}
    for batch in batches.of(batches.parts["test"]):
        scene = batch.graph.scene
        others = None if rivals is None else rivals.of(scene)
        for name, kind in kinds.items():
            logits = scene.start.new_zeros(scene.graph.num_edges)
            if name == MODEL:
                logits = network.edge_logits(batch.graph, batch.features)
            columns = [outcomes(scene, logits, "nll", kind).double(), _standing(scene, logits, kind, others)]
            found[name].append(batch.of_items(torch.cat(columns, dim=1)))
    return {name: torch.cat(parts) for name, parts in found.items()}


def measured(rows: torch.Tensor | None) -> Measures:
    """PATH_MEASURES and STANDING of some windows, from their rows; None where there are none."""
    if rows is None or not len(rows):
        return dict.fromkeys((*PATH_MEASURES, *STANDING))
    standing = rows[:, len(OUTCOMES) :].nanmean(dim=0).tolist()
    found = measures_of(rows[:, : len(OUTCOMES)]) | dict(zip(STANDING, standing, strict=True))
    return {name: value if value == value else None for name, value in found.items()}


def by_horizon(rows: torch.Tensor) -> dict[int, Measures]:
    """The same for every number of steps that there is, with how many windows have it as `horizon_windows`."""
    steps = rows[:, OUTCOMES.index("horizon")].long()
    found = {}
    for horizon in steps.unique().tolist():
        here = rows[steps == horizon]
        found[horizon] = {**measured(here), "horizon_windows": float(len(here))}
    return found


def _rows_of_group(
    rows: Mapping[str, torch.Tensor], horizons: Sequence[int], group: tuple[int, int]
) -> list[dict[str, Any]]:
    first, last = group
    here = torch.tensor([first <= horizon <= last for horizon in horizons], device=rows[MODEL].device)
    steps = str(first) if first == last else f"{first}–{last}"
    start = {"steps": steps, "windows": int(here.sum())}
    return [{**start, "walk": name, **measured(rows[name][here] if name in rows else None)} for name in WALKERS]


def has_single_nodes(dataset: PathDataset) -> bool:
    """Whether every observation is one node."""
    return bool(((dataset.observed_weights > 0).sum(axis=1) == 1).all())


class Rivals:
    """Who else could have been the target: nodes that are the end of any trajectory, and as far from the start as it.

    Parameters
    ----------
    dataset : with observations of single nodes.
    """

    def __init__(self, dataset: PathDataset):
        self._edges, self._size = np.stack([dataset.sources, dataset.targets]), dataset.num_nodes
        likeliest = dataset.observed_weights.argmax(axis=1)
        nodes = dataset.observed_nodes[np.arange(len(likeliest)), likeliest]
        self._goals = np.unique(nodes[dataset.first_observation[1:] - 1])

    def of(self, scene: Scene) -> torch.Tensor:
        """(B, N) bool for the windows of a scene; the target itself may be among them."""
        starts, targets = (nodes_of(scene, weights).cpu().numpy() for weights in (scene.start, scene.target))
        windows = len(starts)
        pairs = np.repeat(starts, len(self._goals)), np.tile(self._goals, windows)
        hops = count_hops(self._edges, self._size, *pairs).reshape(windows, -1)
        own = count_hops(self._edges, self._size, starts, targets)
        rivals = np.zeros((windows, self._size), dtype=bool)
        rivals[:, self._goals] = hops == own[:, None]
        return torch.tensor(rivals, device=scene.start.device)


def nodes_of(scene: Scene, weights: torch.Tensor) -> torch.Tensor:
    """The one node of every window that has a weight, (B,)."""
    here = weights > 0
    found = scene.nodes.new_zeros(scene.graph.num_windows)
    found[scene.graph.node_window[here]] = scene.nodes[here]
    return found


def _standing(scene: Scene, logits: torch.Tensor, kind: str, rivals: torch.Tensor | None) -> torch.Tensor:
    """STANDING for every window, (B, 2)."""
    if rivals is None:
        return logits.new_full((scene.graph.num_windows, len(STANDING)), torch.nan, dtype=torch.float64)
    mass = walk(scene.graph, logits, scene.start, kind)
    mass = mass_by_node(mass, scene.graph.node_window, scene.nodes, tuple(rivals.shape))
    target = nodes_of(scene, scene.target)
    return torch.stack([harmonic_ranks(mass, target), pairwise_credits(mass, target, rivals)], dim=1)
