"""What can be reached: as a search in breadth by hand, and walks on the part are those on the whole."""

from __future__ import annotations

import pytest
import torch
from walkers import draw_logits, make, random_edges

from lipgnn.errors import DataError
from lipgnn.walks import (
    EdgePaths,
    best_nodes,
    choice_hits,
    continuations_size,
    lay_side_by_side,
    log_continuing,
    path_log_likelihood,
    reachable,
    sample_paths,
    upstream,
    walk,
)

NODES, HORIZONS = 60, [7, 3, 3, 1, 0]


@pytest.fixture(scope="module")
def whole():
    edges = sorted(random_edges(0, NODES, 40))
    return edges, make(edges, NODES)


@pytest.fixture(scope="module")
def starts():
    """Two nodes of every window, one of them twice."""
    generator = torch.Generator().manual_seed(0)
    nodes = torch.randint(0, NODES, (2 * len(HORIZONS),), generator=generator)
    windows = torch.arange(len(HORIZONS)).repeat(2)
    return torch.cat([nodes, nodes[:1]]), torch.cat([windows, windows[:1]])


def search(edges, begin, limit):
    """{node: distance} within so many edges."""
    found, frontier = {}, set(begin)
    for distance in range(limit + 1):
        found |= dict.fromkeys(frontier, distance)
        frontier = {head for tail, head in edges if tail in frontier} - found.keys()
    return found


def by_window(pairs, window):
    own = pairs.windows == window
    return dict(zip(pairs.nodes[own].tolist(), pairs.distance[own].tolist(), strict=True))


def test_reachable_is_a_search_in_breadth(whole, starts):
    edges, graph = whole
    nodes, windows = starts
    pairs = reachable(graph.sources, graph.targets, NODES, nodes, windows, torch.tensor(HORIZONS))
    assert len(pairs.windows) == len(set(zip(pairs.windows.tolist(), pairs.nodes.tolist(), strict=True)))
    assert (pairs.windows * NODES + pairs.nodes).diff().min() > 0
    for window, horizon in enumerate(HORIZONS):
        assert by_window(pairs, window) == search(edges, nodes[windows == window].tolist(), horizon - 1)


@pytest.mark.parametrize("hops", [0, 1, 5])
def test_upstream_is_a_search_against_the_direction(whole, starts, hops):
    edges, graph = whole
    nodes, windows = starts
    pairs = upstream(graph.sources, graph.targets, NODES, windows, nodes, hops)
    turned = [(head, tail) for tail, head in edges]
    for window in range(len(HORIZONS)):
        assert by_window(pairs, window) == search(turned, nodes[windows == window].tolist(), hops)


def test_pairs_of_some_windows_are_those_of_a_search_for_these(whole, starts):
    _, graph = whole
    nodes, windows = starts
    horizons, chosen = torch.tensor(HORIZONS), torch.tensor([3, 0, 4])
    found = reachable(graph.sources, graph.targets, NODES, nodes, windows, horizons).of_windows(chosen)
    at = [(windows == window).nonzero()[:, 0] for window in chosen]
    numbers = torch.cat([torch.full_like(own, number) for number, own in enumerate(at)])
    expected = reachable(graph.sources, graph.targets, NODES, nodes[torch.cat(at)], numbers, horizons[chosen])
    assert all(torch.equal(*parts) for parts in zip(found, expected, strict=True))


def cut(graph, starts):
    nodes, windows = starts
    horizons = torch.tensor(HORIZONS, device="cpu")
    pairs = reachable(graph.sources, graph.targets, NODES, nodes, windows, horizons)
    return lay_side_by_side(graph.sources, graph.targets, NODES, pairs, horizons, closed=(windows, nodes))


def test_side_by_side_has_the_edges_of_every_sender_once(whole, starts):
    edges, graph = whole
    part = cut(graph, starts)
    inner = part.graph
    assert torch.equal(part.nodes[inner.sources], graph.sources[part.edges])
    assert torch.equal(part.nodes[inner.targets], graph.targets[part.edges])
    nodes, windows = starts
    for window, horizon in enumerate(HORIZONS):
        own = inner.node_window[inner.sources] == window
        senders = search(edges, nodes[windows == window].tolist(), horizon - 1)
        assert sorted(part.edges[own].tolist()) == [n for n, (tail, _) in enumerate(edges) if tail in senders]


@pytest.mark.parametrize("kind", ["plain", "nb"])
def test_walks_on_the_part_are_those_on_the_whole(whole, starts, kind):
    """Bit for bit where the whole has its edges by source: the same numbers are added in the same order."""
    edges, graph = whole
    nodes, windows = starts
    part = cut(graph, starts)
    logits, weights = draw_logits(0, len(edges)), draw_logits(1, len(nodes)).exp()
    begin = torch.zeros(part.graph.num_nodes, dtype=torch.float64)
    begin.index_add_(0, part.find_nodes(windows, nodes), weights)
    found = walk(part.graph, logits[part.edges], begin, kind)
    for window, horizon in enumerate(HORIZONS):
        own = windows == window
        start = torch.zeros(NODES, dtype=torch.float64).index_add(0, nodes[own], weights[own])
        expected = walk(make(edges, NODES, horizon), logits, start, kind)
        mine = part.graph.node_window == window
        spread = torch.zeros(NODES, dtype=torch.float64)
        spread[part.nodes[mine]] = found[mine]
        assert torch.equal(spread, expected)


def test_nodes_and_edges_are_found_again(whole, starts):
    _, graph = whole
    part = cut(graph, starts)
    inner = part.graph
    order = torch.randperm(inner.num_nodes, generator=torch.Generator().manual_seed(0))
    assert torch.equal(part.find_nodes(inner.node_window[order], part.nodes[order]), order)
    order = torch.randperm(inner.num_edges, generator=torch.Generator().manual_seed(0))
    windows = inner.node_window[inner.sources[order]]
    assert torch.equal(part.find_edges(windows, part.edges[order], graph.sources), order)


def test_what_was_cut_off_is_not_found(whole, starts):
    edges, graph = whole
    part = cut(graph, starts)
    # Of the window that does not walk, its start is there and no edge.
    nodes, windows = starts
    start = nodes[windows == 4][0]
    assert part.nodes[part.find_nodes(torch.tensor([4]), start[None])] == start
    edge = next(number for number, (tail, _) in enumerate(edges) if tail == start)
    with pytest.raises(DataError, match="not part of the graph"):
        part.find_edges(torch.tensor([4]), torch.tensor([edge]), graph.sources)
    with pytest.raises(DataError, match="not part of the graph"):
        part.find_nodes(torch.tensor([5]), torch.tensor([0]))


def everything(graph, starts):
    """All that a task calls, one after the other."""
    nodes, windows = starts
    upstream(graph.sources, graph.targets, NODES, windows, nodes, 2)
    part = cut(graph, starts)
    inner = part.graph
    logits = torch.zeros(inner.num_edges, device=inner.sources.device, requires_grad=True)
    start = torch.zeros_like(inner.node_window, dtype=torch.float32)
    start[part.find_nodes(windows, nodes)] = 1
    edges = inner.by_sender[1][:3]
    path = EdgePaths(edges, torch.full_like(edges, -1), torch.zeros_like(edges), 1)
    results = [log_continuing(inner, logits)]
    for kind in ("plain", "nb"):
        mass = walk(inner, logits, start, kind)
        results += [mass, *torch.autograd.grad(mass[:3].sum(), logits)]
        results += [best_nodes(inner, mass, 3), choice_hits(inner, logits, path, kind)]
        results += [path.sums(path_log_likelihood(inner, logits, path, kind))]
        one = torch.ones_like(graph.sources[:NODES], dtype=torch.float32)
        generator = torch.Generator(device=logits.device).manual_seed(0)
        results += [sample_paths(graph, torch.zeros_like(graph.sources).float(), one, 3, 4, kind, generator).edges]
    return results


def test_nothing_is_made_on_another_device_than_that_of_the_graph(whole, starts):
    """Where tensors are made without saying where, they have no values here, and nothing can be done with them."""
    edges, _ = whole
    expected = everything(make(edges, NODES), starts)
    graph = make(edges, NODES)
    with torch.device("meta"):
        found = everything(graph, starts)
        continuations_size(graph.sources, graph.targets, NODES)
    assert all(torch.equal(*pair) for pair in zip(found, expected, strict=True))


def test_no_windows_are_no_fault(whole):
    _, graph = whole
    nothing = torch.zeros(0, dtype=torch.int64)
    pairs = reachable(graph.sources, graph.targets, NODES, nothing, nothing, nothing)
    part = lay_side_by_side(graph.sources, graph.targets, NODES, pairs, nothing)
    assert (part.graph.num_nodes, part.graph.num_edges, part.graph.num_windows) == (0, 0, 0)


def test_a_graph_that_was_changed_in_its_place_is_searched_anew():
    sources, targets = torch.tensor([0, 1, 2]), torch.tensor([1, 2, 0])
    start, window, horizon = torch.tensor([0]), torch.tensor([0]), torch.tensor([2])
    assert reachable(sources, targets, 3, start, window, horizon).nodes.tolist() == [0, 1]
    sources.copy_(torch.tensor([1, 0, 2]))
    assert reachable(sources, targets, 3, start, window, horizon).nodes.tolist() == [0, 2]
    assert reachable(sources, targets, 5, torch.tensor([4]), window, horizon).nodes.tolist() == [4]
