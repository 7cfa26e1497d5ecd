"""The most probable nodes: as sorting every window by hand."""

from __future__ import annotations

import torch

from lipgnn.walks import WalkGraph, best_nodes, hits


def graph_of(windows):
    nothing = torch.zeros(0, dtype=torch.int64)
    count = int(windows.max()) + 1
    return WalkGraph(nothing, nothing, len(windows), windows, torch.zeros(count, dtype=torch.int64))


def test_best_nodes_of_every_window_lower_numbers_first():
    generator = torch.Generator().manual_seed(0)
    windows = torch.randint(0, 6, (60,), generator=generator).sort()[0]
    mass = torch.randint(0, 5, (60,), generator=generator).float()
    found = best_nodes(graph_of(windows), mass, 4)
    for window in range(6):
        nodes = [node for node in range(60) if windows[node] == window and mass[node] > 0]
        expected = sorted(nodes, key=lambda node: (-mass[node], node))[:4]
        assert found[window].tolist() == expected + [-1] * (4 - len(expected))


def test_windows_with_fewer_nodes_or_no_mass_have_places_left():
    graph = graph_of(torch.tensor([0, 0, 2]))
    assert best_nodes(graph, torch.tensor([0.0, 0.5, 0.0]), 2).tolist() == [[1, -1], [-1, -1], [-1, -1]]
    assert best_nodes(graph, torch.tensor([0.5, 0.5, 1.0]), 3).tolist() == [[0, 1, -1], [-1] * 3, [2, -1, -1]]


def test_hits_are_any_of_the_best_in_the_support():
    best = torch.tensor([[1, 0], [2, -1], [-1, -1], [4, 3]])
    support = torch.tensor([True, False, False, False, True])
    assert hits(best, support).tolist() == [True, False, False, True]
    assert hits(best[:, :1], support).tolist() == [False, False, False, True]
