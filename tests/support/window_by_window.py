"""Extrapolation of paths in the obvious way, one window after the other, as the reference of the batches. Called as a
program, it times training epochs of Gretel computed so beside those of lipgnn, on the same data, from equal weights:

    LIPGNN_DATA=FOLDER OMP_NUM_THREADS=1 python tests/support/window_by_window.py --dataset lausanne
"""

from __future__ import annotations

import argparse
import statistics
import time

import numpy as np
import torch

from lipgnn.datasets.windows import shortest_horizons, windows_of
from lipgnn.runtime import dgl


def observed(dataset, observations, dtype=torch.float64):
    """Observations as columns of weights of all nodes, (N, n)."""
    columns = torch.zeros(dataset.num_nodes, len(observations), dtype=dtype)
    for place, number in enumerate(observations):
        for node, weight in zip(dataset.observed_nodes[number], dataset.observed_weights[number], strict=True):
            columns[node, place] += weight
    return columns


def with_loops(dataset):
    """The graph with one self-loop at every node."""
    graph = dgl.graph((torch.tensor(dataset.sources), torch.tensor(dataset.targets)), num_nodes=dataset.num_nodes)
    return dgl.add_self_loop(dgl.remove_self_loop(graph))


def diffused(graph, x, hops):
    """Every node gives equal shares of what it has to its out-neighbours, so many times; then to mean square 1."""
    shares = (1 / graph.out_degrees()).to(x.dtype)[:, None]
    for _ in range(hops):
        x = dgl.ops.copy_u_sum(graph, x * shares)
    return x / (x * x).mean(0).sqrt()


def edge_logits(head, dataset, h):
    """The logits (E,) of all edges of the whole graph, from what is encoded (N, C)."""
    nodes = torch.cat([h, torch.tensor(dataset.node_features, dtype=h.dtype)], 1)
    ends = (torch.tensor(dataset.sources), torch.tensor(dataset.targets))
    return head(nodes, *ends, torch.tensor(dataset.edge_features, dtype=h.dtype))


def choices(dataset, logits, before, node, walk):
    """The edges that a walker at a node may take, having come by edge `before` (None at first)."""
    out = np.flatnonzero(dataset.sources == node)
    if walk == "nb" and before is not None:
        return [edge for edge in out if dataset.targets[edge] != dataset.sources[before]] or [before]
    return list(out)


def ends_of_walk(dataset, logits, start, steps, walk):
    """Mass on the nodes after so many steps, carried from edge to edge in dictionaries."""
    states = {(None, node): mass for node, mass in enumerate(start) if mass}
    for _ in range(steps):
        after = {}
        for (before, node), mass in states.items():
            options = choices(dataset, logits, before, node, walk)
            weights = np.exp(logits[options] - logits[options].max())
            for edge, share in zip(options, weights / weights.sum(), strict=True):
                state = (edge if walk == "nb" else None, dataset.targets[edge])
                after[state] = after.get(state, 0) + mass * share
        states = after
    ends = np.zeros(dataset.num_nodes)
    for (_, node), mass in states.items():
        ends[node] += mass
    return ends


def decisions(dataset, logits, path, walk):
    """(log-probability, credit) of every edge of a path; a best edge among m equal ones has the credit 1/m."""
    before, found = None, []
    for edge in path:
        options = choices(dataset, logits, before, dataset.sources[edge], walk)
        values = logits[options]
        if edge in options:
            best = values == values.max()
            total = values.max() + np.log(np.exp(values - values.max()).sum())
            found.append((max(logits[edge] - total, -30.0), float(logits[edge] == values.max()) / best.sum()))
        else:
            found.append((-30.0, 0.0))
        before = edge
    return np.array(found)


def outcome(dataset, spec, windows, number, logits):
    """The OUTCOMES of one window, in their order, by the logits (E,) of all edges."""
    path = windows.edges[windows.first_edge[number] : windows.first_edge[number + 1]]
    steps = len(path)
    if spec.horizon != "given":
        steps = shortest_horizons(dataset, windows, float(spec.horizon.partition(":")[2]))[number]
    start, target = observed(dataset, [windows.start[number], windows.target[number]]).numpy().T
    ends = ends_of_walk(dataset, logits, start, steps, spec.walk)
    taken = decisions(dataset, logits, path, spec.walk)
    degree = np.bincount(dataset.sources, minlength=dataset.num_nodes)[dataset.sources[path]]
    branching = (degree > 2) | (np.arange(len(path)) == 0)
    loss = {
        "target": lambda: -max(np.log(max((ends * target).sum(), 1e-300)), -30.0),
        "nll": lambda: -decisions(dataset, logits, path, "plain")[:, 0].sum(),
        "nll-nb": lambda: -decisions(dataset, logits, path, "nb")[:, 0].sum(),
    }[spec.loss]()
    # Nodes that no walker can come to are not among the best; of equal ones the lower number is.
    order = [node for node in np.lexsort([np.arange(len(ends)), -ends]) if ends[node] > 0]
    tops = [float(any(target[node] > 0 for node in order[:k])) for k in (1, 5)]
    chosen = [-taken[:, 0].sum(), -taken[branching, 0].sum(), taken[:, 1].sum(), len(path)]
    chosen += [taken[branching, 1].sum(), branching.sum()]
    return np.array([loss, *chosen, ends[target > 0].sum(), *tops, steps], dtype=float)


def epochs_by_windows(spec, dataset, network):
    """A function that trains one epoch of Gretel with uniform transitions and loss nll, one window after the other."""
    adam = torch.optim.Adam(network.parameters(), lr=spec.lr)
    graph, sources = with_loops(dataset), torch.tensor(dataset.sources)
    windows = windows_of(dataset, spec.observed, spec.predict)
    trained = np.flatnonzero(dataset.split.parts["train"])

    def epoch() -> None:
        for first in range(0, len(trained), spec.batch_size):
            adam.zero_grad()
            for trajectory in trained[first : first + spec.batch_size]:
                own = np.flatnonzero(windows.trajectory == trajectory)
                for number in own:
                    h = diffused(graph, observed(dataset, windows.observations[number], torch.float32), spec.layers)
                    logits = edge_logits(network.decoder, dataset, h)
                    total = torch.zeros(dataset.num_nodes).index_add(0, sources, logits.exp())
                    path = torch.tensor(windows.edges[windows.first_edge[number] : windows.first_edge[number + 1]])
                    loss = -(logits[path] - total[sources[path]].log()).sum()
                    (loss / len(own) / spec.batch_size).backward()
            adam.step()

    return epoch


def main() -> None:
    """Time epochs of both in turns, and print the ratio of the medians."""
    from lipgnn.spec.sources import resolve
    from lipgnn.tasks import load
    from lipgnn.training.state import Training

    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--dataset", default="lausanne")
    parser.add_argument("--layers", type=int, default=60)
    parser.add_argument("--epochs", type=int, default=3)
    asked = parser.parse_args()
    options = {"model": "diffusion", "dataset": asked.dataset, "layers": asked.layers, "loss": "nll", "device": "cpu"}
    spec = resolve(options, {}).spec
    dataset = load(spec.dataset, split=spec.split, features=spec.features)
    began = time.perf_counter()
    training = Training(spec, dataset, torch.device("cpu"))
    print(f"before the first epoch: {time.perf_counter() - began:.2f} s")
    epoch = epochs_by_windows(spec, dataset, Training(spec, dataset, torch.device("cpu")).network)

    def learn() -> None:
        training.epoch += 1
        for batch in training.batches.epoch(training.epoch):
            training._learn(batch)

    ways, times = {"lipgnn": learn, "window by window": epoch}, {}
    for _ in range(asked.epochs):
        for name, one in ways.items():
            start = time.perf_counter()
            one()
            times.setdefault(name, []).append(time.perf_counter() - start)
    medians = {name: statistics.median(seconds) for name, seconds in times.items()}
    for name, seconds in times.items():
        print(f"{name}: {medians[name]:.3f} s per epoch ({min(seconds):.3f} to {max(seconds):.3f})")
    print(f"ratio {medians['window by window'] / medians['lipgnn']:.1f} with {torch.get_num_threads()} threads")


if __name__ == "__main__":
    main()
