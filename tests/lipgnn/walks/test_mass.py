"""Walks: as going through every path by hand, whatever the graph, the horizons and the numbering."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from walkers import DEAD_END, FOUR, draw_logits, ends, make, random_edges

from lipgnn.errors import DataError, UsageError
from lipgnn.kernels import native
from lipgnn.walks import WalkGraph, walk

KINDS = ["plain", "nb"]
TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-12}


@pytest.fixture(autouse=True, params=["compiled", "torch"])
def either(request, monkeypatch):
    """Every test with what is compiled, and with torch's operations, which take its place where it is not."""
    if request.param == "torch":
        monkeypatch.setattr(native, "library", lambda: (None, "not asked for"))
    elif native.library()[0] is None:
        pytest.skip(native.library()[1])
    return request.param


def start_of(nodes, seed=0, dtype=torch.float64):
    mass = torch.rand(nodes, dtype=dtype, generator=torch.Generator().manual_seed(seed))
    return mass / mass.sum()


@pytest.mark.parametrize("dtype", list(TOLERANCE))
@pytest.mark.parametrize("edges", [FOUR, DEAD_END], ids=["four", "dead end"])
@pytest.mark.parametrize("steps", [0, 1, 2, 3, 5])
@pytest.mark.parametrize("kind", KINDS)
def test_equals_every_path_added_up(kind, steps, edges, dtype):
    """G4, and a horizon of 0, which returns the start."""
    nodes = 1 + max(max(edge) for edge in edges)
    logits, start = draw_logits(steps, len(edges), dtype), start_of(nodes, dtype=dtype)
    found = walk(make(edges, nodes, steps), logits, start, kind)
    expected = torch.tensor(ends(edges, logits.tolist(), start.tolist(), steps, kind), dtype=dtype)
    torch.testing.assert_close(found, expected, rtol=0, atol=TOLERANCE[dtype])


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(1, 6), st.integers(0, 8), st.integers(0, 4), st.sampled_from(KINDS), st.integers(0, 2**31))
def test_equals_every_path_added_up_on_any_graph(nodes, further, steps, kind, seed):
    edges = random_edges(seed, nodes, further)
    logits, start = draw_logits(seed, len(edges)), start_of(nodes, seed)
    found = walk(make(edges, nodes, steps), logits, start, kind)
    expected = torch.tensor(ends(edges, logits.tolist(), start.tolist(), steps, kind), dtype=torch.float64)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_mass_is_kept(kind):
    """G2: also with dead ends, at any horizon, in single precision."""
    edges = [*random_edges(1, 200, 300), (200, 200), (3, 200)]
    logits, start = draw_logits(0, len(edges), torch.float32, scale=5), start_of(201, dtype=torch.float32)
    for steps in (1, 2, 7, 40):
        mass = walk(make(edges, 201, steps), logits, start, kind)
        assert mass.min() >= 0
        assert float(mass.sum()) == pytest.approx(1, abs=1e-5)


def test_on_a_line_walkers_never_return():
    """G5: they go straight on from where they are to the ends, where the street closes and they stay."""
    edges = [edge for node in range(8) for edge in ((node, node + 1), (node + 1, node))]
    start = torch.zeros(9, dtype=torch.float64)
    start[3] = 1
    logits = draw_logits(0, len(edges))
    for steps in range(1, 8):
        mass = walk(make(edges, 9, steps), logits, start, "nb")
        assert set(mass.nonzero()[:, 0].tolist()) == {max(0, 3 - steps), min(8, 3 + steps)}


def test_on_a_circle_walkers_keep_their_direction():
    """G5: after s steps all mass is at distance s, shared as the first choice has it."""
    edges = [edge for node in range(11) for edge in ((node, (node + 1) % 11), ((node + 1) % 11, node))]
    start = torch.zeros(11, dtype=torch.float64)
    start[0] = 1
    logits = draw_logits(1, len(edges))
    right = 1 / (1 + math.exp(float(logits[edges.index((0, 10))] - logits[edges.index((0, 1))])))
    for steps in range(1, 11):
        expected = torch.zeros(11, dtype=torch.float64)
        expected[steps] += right
        expected[11 - steps] += 1 - right
        torch.testing.assert_close(walk(make(edges, 11, steps), logits, start, "nb"), expected)


def test_one_step_is_the_same_for_both():
    """G7."""
    edges = random_edges(2, 30, 60)
    logits, start = draw_logits(0, len(edges)), start_of(30)
    plain, other = (walk(make(edges, 30, 1), logits, start, kind) for kind in KINDS)
    torch.testing.assert_close(plain, other)


@pytest.mark.parametrize("kind", KINDS)
def test_other_numbers_of_nodes_and_edges_permute_the_mass(kind):
    """G8."""
    edges = random_edges(3, 20, 50)
    logits, start = draw_logits(0, len(edges)), start_of(20)
    generator = torch.Generator().manual_seed(0)
    nodes, order = torch.randperm(20, generator=generator), torch.randperm(len(edges), generator=generator)
    renamed = [tuple(nodes[list(edges[number])].tolist()) for number in order.tolist()]
    moved = torch.empty_like(start)
    moved[nodes] = start
    expected = walk(make(edges, 20, 6), logits, start, kind)
    torch.testing.assert_close(walk(make(renamed, 20, 6), logits[order], moved, kind)[nodes], expected)


def side_by_side(parts):
    """[(edges, nodes, horizon)] as one graph."""
    shifted, windows, before = [], [], 0
    for window, (edges, nodes, _) in enumerate(parts):
        shifted += [(source + before, target + before) for source, target in edges]
        windows += [window] * nodes
        before += nodes
    sources, targets = torch.tensor(shifted).T.contiguous()
    horizons = torch.tensor([horizon for *_, horizon in parts])
    return WalkGraph(sources, targets, before, torch.tensor(windows), horizons)


@pytest.mark.parametrize("kind", KINDS)
def test_windows_of_different_horizons_are_as_one_by_one(kind):
    """Bit for bit, in values and gradients."""
    parts = [(random_edges(seed, 12, 20), 12, horizon) for seed, horizon in enumerate([9, 4, 4, 1, 0, 0])]
    starts = [start_of(12, seed) for seed in range(len(parts))]
    logits = [draw_logits(seed, len(edges)).requires_grad_() for seed, (edges, _, _) in enumerate(parts)]
    target = draw_logits(7, 12)
    together = torch.cat(logits).detach().requires_grad_()
    mass = walk(side_by_side(parts), together, torch.cat(starts), kind)
    (grad,) = torch.autograd.grad((mass * target.repeat(len(parts))).sum(), together)
    alone = [walk(make(*part), each, start, kind) for part, each, start in zip(parts, logits, starts, strict=True)]
    assert torch.equal(mass, torch.cat(alone))
    grads = [
        torch.autograd.grad((each * target).sum(), own)[0] if each.requires_grad else torch.zeros_like(own)
        for each, own in zip(alone, logits, strict=True)
    ]
    assert torch.equal(grad, torch.cat(grads))


@pytest.mark.parametrize("steps", [1, 3])
@pytest.mark.parametrize("edges", [FOUR, DEAD_END], ids=["four", "dead end"])
@pytest.mark.parametrize("kind", KINDS)
def test_gradients(kind, edges, steps):
    nodes = 1 + max(max(edge) for edge in edges)
    graph = make(edges, nodes, steps)
    logits, start = draw_logits(0, len(edges)).requires_grad_(), start_of(nodes).requires_grad_()
    assert torch.autograd.gradcheck(lambda *values: walk(graph, *values, kind), (logits, start))


def test_where_turning_back_has_nearly_all_probability():
    """Exactly the shares of what is left, though all of it together is 1e-300 of the choices by sender, or less."""
    edges = [(0, 1), (1, 0), (1, 2), (1, 3), (2, 1), (3, 1)]
    logits = torch.tensor([0.0, 800.0, 1.0, 0.0, 0.0, 0.0], dtype=torch.float32, requires_grad=True)
    mass = walk(make(edges, 4, 2), logits, torch.tensor([1.0, 0, 0, 0]), "nb")
    share = 1 / (1 + math.exp(-1))
    assert mass.tolist() == pytest.approx([0, 0, share, 1 - share])
    (grad,) = torch.autograd.grad(mass[2], logits)
    slope = share * (1 - share)
    assert grad.tolist() == pytest.approx([0, 0, slope, -slope, 0, 0])


@pytest.mark.parametrize("kind", KINDS)
def test_a_walker_that_cannot_go_on_is_a_fault_unless_it_has_arrived(kind):
    edges, logits = [(0, 1), (1, 2)], torch.zeros(2)
    assert walk(make(edges, 3, 2), logits, torch.tensor([1.0, 0, 0]), kind).tolist() == [0, 0, 1]
    for steps, start in ((3, [1.0, 0, 0]), (2, [0, 1.0, 0]), (1, [0, 0, 1.0])):
        with pytest.raises(DataError, match="without an outgoing edge"):
            walk(make(edges, 3, steps), logits, torch.tensor(start), kind)
    assert walk(make(edges, 3, 0), logits, torch.tensor([0, 0, 1.0]), kind).tolist() == [0, 0, 1]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_not_a_number_stays_so(kind):
    """It is no walker that cannot go on: whoever trains is to see that the run diverged."""
    logits = torch.full((2,), torch.nan)
    mass = walk(make([(0, 1), (1, 2)], 3, 2), logits, torch.tensor([1.0, 0, 0]), kind)
    assert mass[2].isnan()


def test_refuses_what_does_not_fit():
    graph = make(FOUR, 4, 2)
    with pytest.raises(UsageError, match=r"Unknown walk 'nbt'.*"):
        walk(graph, torch.zeros(8), torch.zeros(4), "nbt")
    with pytest.raises(DataError, match=r"logits must be \(8,\)"):
        walk(graph, torch.zeros(7), torch.zeros(4), "plain")
    with pytest.raises(DataError, match=r"The start must be \(4,\)"):
        walk(graph, torch.zeros(8), torch.zeros(4, dtype=torch.float64), "plain")


def large():
    """400 windows whose edges are more than torch lets a single thread add up."""
    return side_by_side([(random_edges(seed, 60, 60), 60, 6 - seed // 100) for seed in range(400)])


@pytest.mark.parametrize("kind", KINDS)
def test_does_not_depend_on_the_number_of_threads(kind):
    """Bit for bit, values and gradients."""
    graph = large()
    start, target = draw_logits(1, graph.num_nodes, torch.float32).exp(), draw_logits(2, graph.num_nodes, torch.float32)
    threads, results = torch.get_num_threads(), []
    try:
        for number in (1, 2, 4):
            torch.set_num_threads(number)
            logits = draw_logits(0, graph.num_edges, torch.float32).requires_grad_()
            mass = walk(graph, logits, start, kind)
            results.append((mass.detach(), *torch.autograd.grad((mass * target).sum(), logits)))
    finally:
        torch.set_num_threads(threads)
    for result in results[1:]:
        assert all(torch.equal(*pair) for pair in zip(result, results[0], strict=True))


@pytest.mark.parametrize("either", ["compiled"], indirect=True)
@pytest.mark.parametrize("kind", KINDS)
def test_what_the_compiled_walk_keeps_for_the_gradient_does_not_grow_with_steps(kind):
    edges = random_edges(0, 50, 80)
    kept = []
    for steps in (2, 40):
        sizes = []
        with torch.autograd.graph.saved_tensors_hooks(
            lambda kept, sizes=sizes: sizes.append(kept.numel()), lambda _: _
        ):
            walk(make(edges, 50, steps), draw_logits(0, len(edges)).requires_grad_(), start_of(50), kind)
        kept.append(sum(sizes))
    assert 0 < kept[0] == kept[1]
