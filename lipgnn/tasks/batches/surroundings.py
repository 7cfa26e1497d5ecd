"""Of a graph, what matters to some windows: the parts that are walked on and encoded, window by window."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from lipgnn.datasets.trajectories import PathDataset
from lipgnn.network.build import example_block
from lipgnn.network.paths import Surroundings
from lipgnn.nn.contract import acts_alike
from lipgnn.nn.diffusion import EDGES, NODES, Diffusion
from lipgnn.runtime import MEMBERSHIP, dgl
from lipgnn.spec.run import RunSpec
from lipgnn.tasks.batches.batch import acts_along_edges_only
from lipgnn.walks import EdgePaths, SideBySide, lay_side_by_side, reachable, upstream
from lipgnn.walks.graph import NON_BACKTRACKING
from lipgnn.walks.outcomes import Scene
from lipgnn.walks.segments import entries_of, starts_of

# The most numbers in a table of what diffusion makes of all observations.
_LARGEST_TABLE = 2**29
# A node where that many edges, or more, can be taken is a decision.
_BRANCHES = 3


@dataclass(frozen=True, eq=False)
class Asked:
    """What is asked about B windows.

    Attributes
    ----------
    observations : (B, N), those that are shown.
    start, target : (B,), observations.
    first_edge, edges : (B + 1,) and (S,), the true paths.
    horizons : (B,), the steps of the walk.
    """

    observations: torch.Tensor
    start: torch.Tensor
    target: torch.Tensor
    first_edge: torch.Tensor
    edges: torch.Tensor
    horizons: torch.Tensor

    def of(self, windows: torch.Tensor) -> Asked:
        """The same about some of them, in their order."""
        place, entry = entries_of(self.first_edge, windows)
        counts = torch.bincount(place, minlength=len(windows))
        return Asked(
            *(part[windows] for part in (self.observations, self.start, self.target)),
            torch.cat([counts.new_zeros(1), counts.cumsum(0)]),
            self.edges[entry],
            self.horizons[windows],
        )

    @property
    def edge_window(self) -> torch.Tensor:
        """The window of every true edge, (S,)."""
        return torch.arange(len(self.start), device=self.edges.device).repeat_interleave(self.first_edge.diff())


class Roads:
    """The graph of a data set, of which windows are shown what matters to them.

    For the likelihood of a path these are the nodes on it; for a walk, all that can be reached within its horizon; and
    where an encoder of L layers acts along edges only, what is within L edges upstream of these. With norms over nodes
    or layers that count out-edges every window has the whole graph. Gretel's diffusion is on the whole graph, once for
    every observation; where nothing is learned in it, it is done before the first step.

    Attributes
    ----------
    table : what diffusion makes of all observations, (N, O), where it is known before.
    """

    def __init__(self, spec: RunSpec, dataset: PathDataset, device: torch.device):
        self._dtype = getattr(torch, spec.dtype)
        self._size, self._hops = dataset.num_nodes, spec.layers
        self._walked = spec.loss == "target"
        self._ends = tuple(torch.tensor(ends, device=device) for ends in (dataset.sources, dataset.targets))
        self._node_features = torch.tensor(dataset.node_features, device=device, dtype=self._dtype)
        self._edge_features = torch.tensor(dataset.edge_features, device=device, dtype=self._dtype)
        self._observed_nodes = torch.tensor(dataset.observed_nodes, device=device)
        self._observed_weights = torch.tensor(dataset.observed_weights, device=device, dtype=self._dtype)
        self._out_degrees, self._in_degrees = (torch.bincount(ends, minlength=self._size) for ends in self._ends)
        self._kinds, self._kind = _kinds_of(dataset, device)
        self._layers = self._encoder_graph(both=spec.directions == "both" and spec.model != "diffusion")
        self._layer_ends = tuple(ends.long() for ends in self._layers.edges(order="eid"))
        self._first_in_edge = starts_of(self._layer_ends[1], self._size)
        self._in_tails = self._layer_ends[0][torch.argsort(self._layer_ends[1], stable=True)]
        self._diffuses = spec.model == "diffusion"
        self._both = spec.directions == "both"
        self._narrows = not self._diffuses and _can_be_cut(spec)
        self.table = self._everywhere = None
        # Of observations that are alike, one is diffused.
        if self._diffuses and self._size * len(self._kinds) * (1 + self._both) <= _LARGEST_TABLE:
            self._everywhere = self._columns(self._kinds)
            if spec.transitions == "uniform":
                diffusion = Diffusion(spec.layers, spec.transitions, spec.directions, *dataset.shape)
                self.table = diffusion.table(self._layers, self._everywhere)

    def around(self, asked: Asked, *, whole: bool) -> tuple[Surroundings, torch.Tensor]:
        """What matters to windows, the longest of them first, and the input of a network.

        Parameters
        ----------
        whole : whether everything is to be measured of them; else the loss alone.
        """
        side, scene = self.scene(asked, walked=whole or self._walked)
        return self.seen(asked, side, scene, whole=whole)

    def seen(self, asked: Asked, side: SideBySide, scene: Scene, *, whole: bool) -> tuple[Surroundings, torch.Tensor]:
        """The same of a scene that is laid out already."""
        features = self._node_features[side.nodes], self._edge_features[side.edges]
        if not self._diffuses:
            layers, rows, x = self._encoded(asked, side)
            return Surroundings(layers, rows, None, scene, *features, whole), x
        if self.table is not None:
            columns = self._with_back(self._kind[asked.observations], self.table.shape[1])
            x = self.table[side.nodes[:, None], columns[side.graph.node_window]]
            return Surroundings(None, None, None, scene, *features, whole), x
        kinds, place = self._kind[asked.observations].unique(return_inverse=True)
        if whole and self._everywhere is not None:
            # The same input for all batches of an evaluation, so that it is diffused once.
            kinds, place, x = self._kinds, kinds[place], self._everywhere
        else:
            x = self._columns(self._kinds[kinds])
        columns = self._with_back(place, len(kinds) * (1 + self._both))[side.graph.node_window]
        return Surroundings(self._layers, side.nodes, columns, scene, *features, whole), x

    def sizes(self, asked: Asked, walk: str) -> torch.Tensor:
        """What walkers may do in every window, (B,): edges that they may take, or for "nb" pairs of these, at most."""
        window, node, _ = self._observed(asked.start)
        reached = reachable(*self._ends, self._size, node, window, asked.horizons)
        moves = self._out_degrees * (self._in_degrees.clamp(min=1) if walk == NON_BACKTRACKING else 1)
        return torch.zeros_like(asked.horizons).index_add(0, reached.windows, moves[reached.nodes])

    def scene(self, asked: Asked, *, walked: bool) -> tuple[SideBySide, Scene]:
        """The out-edges of nodes on true paths and, if walked, of all that can be reached; and what is true of them."""
        sources = self._ends[0]
        window = asked.edge_window
        pairs = [window, sources[asked.edges]]
        start, target = (self._observed(observations) for observations in (asked.start, asked.target))
        if walked:
            reached = reachable(*self._ends, self._size, start[1], start[0], asked.horizons)
            pairs = [torch.cat([pair, more]) for pair, more in zip(pairs, reached[:2], strict=True)]
        # Where walkers start and should come to is part of the graph, even where no edge leads there in time.
        closed = tuple(torch.cat(both) for both in zip(start[:2], target[:2], strict=True))
        side = lay_side_by_side(*self._ends, self._size, tuple(pairs), asked.horizons, closed)
        edges = side.find_edges(window, asked.edges, sources)
        first = torch.zeros(len(edges), dtype=torch.bool, device=edges.device)
        first[asked.first_edge[:-1][asked.first_edge.diff() > 0]] = True
        path = EdgePaths(edges, edges.roll(1).where(~first, -1), window, len(asked.start))
        branching = first | (self._out_degrees[sources[asked.edges]] >= _BRANCHES)
        observed = (self._mass(side, *start), self._mass(side, *target))
        return side, Scene(side.graph, path, *observed, branching, side.nodes)

    def _observed(self, observations: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """(window, node, weight) of the observation of every window, without those of no weight."""
        weights = self._observed_weights[observations]
        window, place = weights.nonzero(as_tuple=True)
        return window, self._observed_nodes[observations][window, place], weights[window, place]

    def _mass(
        self, side: SideBySide, windows: torch.Tensor, nodes: torch.Tensor, weights: torch.Tensor
    ) -> torch.Tensor:
        return weights.new_zeros(len(side.nodes)).index_add(0, side.find_nodes(windows, nodes), weights)

    def _encoded(self, asked: Asked, side: SideBySide) -> tuple[dgl.DGLGraph, torch.Tensor, torch.Tensor]:
        """The graph of an encoder, where in it the nodes of the scene are, and its input."""
        if self._narrows:
            found = upstream(*self._layer_ends, self._size, side.graph.node_window, side.nodes, self._hops)
            keys = found.windows * self._size + found.nodes
        else:
            keys = torch.arange(len(asked.start) * self._size, device=self._in_tails.device)
        node = keys % self._size
        place, entry = entries_of(self._first_in_edge, node)
        tails = keys[place] - node[place] + self._in_tails[entry]
        there, tails = _find(keys, tails)
        graph = dgl.graph((tails, place[there]), num_nodes=len(keys))
        graph.ndata[MEMBERSHIP] = keys // self._size
        rows = torch.searchsorted(keys, side.graph.node_window * self._size + side.nodes)
        return graph, rows, torch.cat([self._shown(asked, keys), self._node_features[node]], dim=1)

    def _shown(self, asked: Asked, keys: torch.Tensor) -> torch.Tensor:
        """The weights of the observations of every window at its nodes, (P, N)."""
        observed = asked.observations.shape[1]
        place, nodes, weights = self._observed(asked.observations.flatten())
        there, row = _find(keys, place // observed * self._size + nodes)
        x = weights.new_zeros(len(keys) * observed)
        return x.index_add(0, row * observed + place[there] % observed, weights[there]).view(-1, observed)

    def _columns(self, observations: torch.Tensor) -> torch.Tensor:
        """Observations as distributions over all nodes, (N, C)."""
        columns, nodes, weights = self._observed(observations)
        x = weights.new_zeros(self._size * len(observations))
        return x.index_add(0, nodes * len(observations) + columns, weights).view(self._size, -1)

    def _with_back(self, columns: torch.Tensor, width: int) -> torch.Tensor:
        """The columns (B, N) of windows in what was diffused; with those of the other direction, (B, 2N)."""
        return torch.cat([columns, columns + width // 2], dim=1) if self._both else columns

    def _encoder_graph(self, *, both: bool) -> dgl.DGLGraph:
        """The graph with a self-loop at every node, given or not, once; with reversed edges where asked for."""
        sources, targets = self._ends
        nodes = torch.arange(self._size, device=sources.device)
        inner = sources != targets
        forth, back = (sources[inner], targets[inner]), (targets[inner], sources[inner])
        parts = [forth, back, (nodes, nodes)] if both else [forth, (nodes, nodes)]
        graph = dgl.graph(tuple(map(torch.cat, zip(*parts, strict=True))), num_nodes=self._size)
        if not both:
            loops = self._edge_features.new_zeros(self._size, self._edge_features.shape[1])
            graph.ndata[NODES] = self._node_features
            graph.edata[EDGES] = torch.cat([self._edge_features[inner], loops])
        return graph


def _kinds_of(dataset: PathDataset, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    """One observation of every kind, those that are alike being of one, and the kind of each, (K,) and (O,)."""
    rows = np.concatenate([dataset.observed_nodes, dataset.observed_weights], axis=1)
    _, kinds, kind = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    return torch.tensor(kinds, device=device), torch.tensor(kind.reshape(-1), device=device)


def _find(keys: torch.Tensor, wanted: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Which of some numbers are in an ascending list, and the places of those."""
    place = torch.searchsorted(keys, wanted).clamp(max=len(keys) - 1)
    there = keys[place] == wanted
    return there, place[there]


def _can_be_cut(spec: RunSpec) -> bool:
    """Whether a part of a graph is enough; a layer that counts out-edges needs those that lead out of it."""
    return acts_along_edges_only(spec) and acts_alike(example_block(spec).conv)
