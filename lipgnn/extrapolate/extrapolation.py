"""A trained model, asked where a walker goes on to."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch

from lipgnn.datasets.trajectories import PathDataset
from lipgnn.errors import DataError, UsageError
from lipgnn.extrapolate.answer import Drawn, Extrapolation, Likelihood
from lipgnn.extrapolate.continuations import Continuations, Decisions, decisions_along
from lipgnn.extrapolate.prefix import Prefix
from lipgnn.tasks import TaskData
from lipgnn.tasks.batches.surroundings import Asked, Roads
from lipgnn.tasks.saved import SavedModel
from lipgnn.walks import EdgePaths, SideBySide, path_log_likelihood, sample_paths, segment_sums, walk
from lipgnn.walks.segments import segment_log_sum_exp

MOST_STEPS = 10_000
MOST_DRAWN = 2**26
"""Steps of all samples together."""


@torch.no_grad()
def extrapolate(
    saved: SavedModel,
    dataset: PathDataset,
    prefix: Prefix,
    device: torch.device,
    *,
    steps: int | None = None,
    samples: int = 0,
    seed: int = 0,
    continuations: Continuations | None = None,
) -> Extrapolation:
    """Walk on from the last observation of a prefix, by the choices of a model and the walk that it was trained for.

    Parameters
    ----------
    steps : of the walk; None for as many edges as the true path has, where it is known.
    samples, seed : so many continuations are drawn; the same seed draws the same ones.
    continuations : paths whose likelihood is asked for, of any length.

    Raises
    ------
    UsageError : numbers out of range, or a model of another task.
    DataError : the data has other numbers of features than the model.
    """
    check_task(saved, dataset)
    steps = _checked_steps(steps, samples, prefix)
    truth = None if prefix.truth is None else decisions_along(prefix.truth.edges)
    given = None if continuations is None else continuations.decisions
    asked_edges = [decisions.edge for decisions in (truth, given) if decisions is not None]
    scene = _Scene.of(saved, dataset, prefix, steps, asked_edges, device)
    mass = walk(scene.side.graph, scene.logits, scene.start, saved.spec.walk)
    ends = scene.side.nodes.cpu().numpy()[kept := (mass > 0).cpu().numpy()]
    probabilities = mass.cpu().numpy()[kept]
    order = np.lexsort((ends, -probabilities))
    drawn = scene.draw(steps, samples, seed, dataset.given_edges) if samples else []
    likelihoods = [] if given is None else scene.likelihoods(given, continuations.sequences, prefix)
    true_path = on_target = None
    if truth is not None:
        edges = prefix.truth.edges
        nodes = [int(dataset.sources[edges[0]]), *dataset.targets[edges].tolist()]
        (true_path,) = scene.likelihoods(truth, [nodes], prefix)
        support = prefix.truth.target_nodes[prefix.truth.target_weights > 0]
        on_target = float(probabilities[np.isin(ends, support)].sum())
    of_ends = (ends[order], probabilities[order])
    return Extrapolation(saved.spec.walk, steps, prefix, *of_ends, drawn, likelihoods, true_path, on_target)


@dataclass(frozen=True, eq=False)
class _Scene:
    """The part of the graph that matters to a prefix, with the model's choices there.

    Attributes
    ----------
    side : the graph, which knows the numbers of its nodes and edges in the data set.
    sources : (E,), of all edges of the data set.
    logits : of the edges of the part, in double precision.
    start : the mass that walkers start with.
    kind : of the walk.
    """

    side: SideBySide
    sources: torch.Tensor
    logits: torch.Tensor
    start: torch.Tensor
    kind: str

    @classmethod
    def of(
        cls,
        saved: SavedModel,
        dataset: PathDataset,
        prefix: Prefix,
        steps: int,
        edges: list[np.ndarray],
        device: torch.device,
    ) -> _Scene:
        """What can be reached in so many steps, and whatever else it takes to judge some edges."""
        roads = Roads(saved.spec, _observed_alone(dataset, prefix), device)
        count = len(prefix.nodes)
        wanted = torch.tensor(np.concatenate([np.empty(0, np.int64), *edges]), device=device)
        last = torch.tensor([count - 1], device=device)
        asked = Asked(
            observations=torch.arange(count, device=device)[None],
            start=last,
            target=last,
            first_edge=torch.tensor([0, len(wanted)], device=device),
            edges=wanted,
            horizons=torch.tensor([steps], device=device),
        )
        side, scene = roads.scene(asked, walked=True)
        surroundings, x = roads.seen(asked, side, scene, whole=True)
        logits = saved.network.to(device).edge_logits(surroundings, x).double()
        sources = torch.tensor(dataset.sources, device=device)
        return cls(side, sources, logits, _start(side, prefix, device), saved.spec.walk)

    def draw(self, steps: int, samples: int, seed: int, given_edges: int) -> list[Drawn]:
        """Continuations at random, by their probabilities."""
        generator = torch.Generator(device=self.logits.device).manual_seed(seed)
        graph = self.side.graph
        drawn = sample_paths(graph, self.logits, self.start, steps, samples, self.kind, generator)
        nodes = self.side.nodes[torch.cat([drawn.starts[:, None], graph.targets[drawn.edges]], dim=1)]
        edges = self.side.edges[drawn.edges]
        stays = edges >= given_edges
        if self.kind != "plain":
            # Without turning back an edge follows itself where nothing else is left, and nowhere else.
            stays[:, 1:] |= edges[:, 1:] == edges[:, :-1]
        rows = zip(
            *(part.tolist() for part in (nodes, edges, stays, drawn.log_start.exp(), drawn.log_path)), strict=True
        )
        return [
            Drawn(passed, [None if stay else edge for edge, stay in zip(taken, stayed, strict=True)], begin, value)
            for passed, taken, stayed, begin, value in rows
        ]

    def likelihoods(self, decisions: Decisions, sequences: list[list[int]], prefix: Prefix) -> list[Likelihood]:
        """How likely paths are, each given the node that it starts at."""
        edge, previous, step, path = (torch.tensor(part, device=self.logits.device) for part in decisions)
        nowhere = torch.zeros_like(edge)
        found = self.side.find_edges(nowhere, edge, self.sources)
        before = self.side.find_edges(nowhere, previous.clamp(min=0).where(previous >= 0, edge), self.sources)
        taken = EdgePaths(found, before.where(previous >= 0, -1), step, len(path))
        each = path_log_likelihood(self.side.graph, self.logits, taken, self.kind)
        steps = segment_log_sum_exp(each, step, len(path))
        totals = segment_sums(steps, path, len(sequences)).tolist()
        starts = [float(prefix.weights[-1][prefix.nodes[-1] == nodes[0]].sum()) for nodes in sequences]
        return [Likelihood(*parts) for parts in zip(sequences, starts, totals, strict=True)]


def _start(side: SideBySide, prefix: Prefix, device: torch.device) -> torch.Tensor:
    """The weights of the last observation, on the nodes of a part of the graph."""
    there = prefix.weights[-1] > 0
    nodes, weights = (torch.tensor(part[-1][there], device=device) for part in (prefix.nodes, prefix.weights))
    start = torch.zeros(len(side.nodes), dtype=torch.float64, device=device)
    return start.index_add(0, side.find_nodes(torch.zeros_like(nodes), nodes), weights)


def _observed_alone(dataset: PathDataset, prefix: Prefix) -> PathDataset:
    """The same graph with the observations of a prefix and no others."""
    count = len(prefix.nodes)
    return replace(
        dataset,
        observed_nodes=prefix.nodes,
        observed_weights=prefix.weights,
        first_observation=np.array([0, count]),
        leg_edges=np.empty(0, dtype=np.int64),
        first_leg_edge=np.zeros(count + 1, dtype=np.int64),
    )


def check_task(saved: SavedModel, dataset: TaskData | None = None) -> None:
    """Refuse a model that does not extrapolate paths, and data that it is not for.

    Raises
    ------
    UsageError : a model of another task.
    DataError : data of another task, or with other numbers of features.
    """
    if saved.task != "paths":
        raise UsageError(
            f"The model was trained on {saved.spec.dataset!r}, whose task is {saved.task}, and has no paths to go on.",
            "Give a run of task paths, as `lipgnn train --dataset planar --model diffusion` makes one.",
        )
    if dataset is None:
        return
    if dataset.task != "paths":
        raise DataError(f"Data set {dataset.name!r} has no trajectories.", "Give one of task paths.")
    if saved.shape != dataset.shape:
        raise DataError(
            f"The model takes {saved.shape[0]} features of nodes and {saved.shape[1]} of edges; data set "
            f"{dataset.name!r} has {dataset.shape[0]} and {dataset.shape[1]}.",
            "Extrapolate on a data set of the same shape.",
        )


def _checked_steps(steps: int | None, samples: int, prefix: Prefix) -> int:
    if steps is None:
        if prefix.truth is None:
            raise UsageError("How many steps to walk is not known of this prefix.", "Say it: --steps 10")
        steps = len(prefix.truth.edges)
    if not 0 <= steps <= MOST_STEPS:
        raise UsageError(f"There must be 0 to {MOST_STEPS} steps, got {steps}.")
    if samples < 0 or samples * max(steps, 1) > MOST_DRAWN:
        raise UsageError(f"{samples} samples of {steps} steps were asked for, and {MOST_DRAWN} steps in all are drawn.")
    return steps
