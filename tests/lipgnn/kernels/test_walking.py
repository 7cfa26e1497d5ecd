"""Compiled walks: as torch's operations, at any number of threads, and never outside of their arrays."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from walkers import draw_logits, random_edges

from lipgnn.errors import DataError, UsageError
from lipgnn.kernels import native
from lipgnn.kernels.walking import WalkOrder, walk_steps
from lipgnn.walks import WalkGraph
from lipgnn.walks.mass import steps_by_torch

pytestmark = pytest.mark.skipif(native.library()[0] is None, reason=native.library()[1])
TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-12}


def many(seed, windows, nodes, further, longest):
    """So many windows of any graphs and horizons."""
    edges = [
        (source + nodes * window, target + nodes * window)
        for window in range(windows)
        for source, target in random_edges(seed + window, nodes, further)
    ]
    sources, targets = torch.tensor(edges).T.contiguous()
    draw = torch.Generator().manual_seed(seed)
    horizons = torch.randint(0, longest + 1, (windows,), generator=draw).sort(descending=True)[0]
    window = torch.arange(windows).repeat_interleave(nodes)
    return WalkGraph(sources, targets, nodes * windows, window, horizons)


def values_and_gradients(function, graph, kind, dtype, seed):
    states = graph.num_nodes if kind == "plain" else graph.num_edges
    logits = draw_logits(seed, graph.num_edges, dtype, scale=3).requires_grad_()
    start = draw_logits(seed + 1, states, dtype).exp().requires_grad_()
    found = function(logits, start)
    return (found.detach(), *torch.autograd.grad(found, (logits, start), draw_logits(seed + 2, states, dtype)))


@settings(max_examples=40, deadline=None)
@given(
    st.integers(1, 4),
    st.integers(1, 6),
    st.integers(0, 12),
    st.integers(0, 9),
    st.sampled_from(["plain", "nb"]),
    st.sampled_from(sorted(TOLERANCE, key=str)),
    st.integers(0, 2**31),
)
def test_equals_the_reference_in_values_and_gradients(windows, nodes, further, longest, kind, dtype, seed):
    graph = many(seed, windows, nodes, further, longest)
    # A reference that walks no step does not depend on the logits.
    expected = values_and_gradients(
        lambda logits, start: steps_by_torch(graph, logits, start, kind) + 0 * logits.sum(), graph, kind, dtype, seed
    )
    found = values_and_gradients(
        lambda logits, start: walk_steps(graph.order(kind), logits, start)[0], graph, kind, dtype, seed
    )
    torch.testing.assert_close(found, expected, rtol=10 * TOLERANCE[dtype], atol=10 * TOLERANCE[dtype])


@pytest.mark.parametrize("kind", ["plain", "nb"])
def test_does_not_depend_on_the_number_of_threads(kind):
    graph = many(0, 40, 30, 40, 12)
    threads, results = torch.get_num_threads(), []
    try:
        for number in (1, 2, 5):
            torch.set_num_threads(number)
            walked = lambda logits, start: walk_steps(graph.order(kind), logits, start)[0]  # noqa: E731
            results.append(values_and_gradients(walked, graph, kind, torch.float32, 0))
    finally:
        torch.set_num_threads(threads)
    for result in results[1:]:
        assert all(torch.equal(one, other) for one, other in zip(results[0], result, strict=True))


def test_says_in_which_window_mass_has_nowhere_to_go():
    sources, targets = torch.tensor([0, 2, 4]), torch.tensor([1, 3, 5])
    graph = WalkGraph(sources, targets, 6, torch.tensor([0, 0, 1, 1, 2, 2]), torch.tensor([2, 1, 0]))
    _, lost = walk_steps(graph.order("plain"), torch.zeros(3), torch.tensor([1.0, 0, 1, 0, 0, 1]))
    assert lost.tolist() == [1, 0, 0]


def test_no_windows_and_no_states_are_no_fault():
    nothing = torch.zeros(0, dtype=torch.int64)
    graph = WalkGraph(nothing, nothing, 0, nothing, nothing)
    assert len(walk_steps(graph.order("plain"), torch.zeros(0), torch.zeros(0))[0]) == 0
    empty = WalkGraph(nothing, nothing, 0, nothing, torch.tensor([3, 1]))
    assert walk_steps(empty.order("nb"), torch.zeros(0), torch.zeros(0))[1].tolist() == [0, 0]


def test_second_derivatives_are_refused():
    graph = many(0, 1, 3, 3, 4)
    logits, start = torch.zeros(graph.num_edges, requires_grad=True), torch.ones(3)
    found = walk_steps(graph.order("plain"), logits, start)[0]
    (grad,) = torch.autograd.grad(found[0], logits, create_graph=True)
    with pytest.raises(UsageError, match="Compiled walks have no second derivatives"):
        torch.autograd.grad(grad.square().sum(), logits)


GOOD = {
    "first": torch.tensor([0, 1, 2, 3, 4]),
    "to": torch.tensor([1, 0, 3, 2]),
    "edge": torch.tensor([0, 1, 2, 3]),
    "edges": 4,
    "first_state": torch.tensor([0, 2, 4]),
    "steps": torch.tensor([2, 1]),
}


@pytest.mark.parametrize(
    "changes",
    [
        {"to": torch.tensor([1, 0, 3, 4])},
        {"to": torch.tensor([1, -1, 3, 2])},
        {"to": torch.tensor([1, 2, 3, 2])},
        {"first": torch.tensor([0, 1, 2, 3, 5])},
        {"first": torch.tensor([0, 2, 1, 3, 4])},
        {"edge": torch.tensor([0, 1, 2])},
        {"edge": torch.tensor([0, 1, 2, 4])},
        {"edge": torch.tensor([-1, 1, 2, 3])},
        {"first_state": torch.tensor([0, 2, 5])},
        {"first_state": torch.tensor([0, 5, 4])},
        {"first_state": torch.tensor([0, 4])},
        {"steps": torch.tensor([2, -1])},
    ],
)
def test_refuses_moves_that_lead_elsewhere(changes):
    WalkOrder.checked(**GOOD)
    with pytest.raises(DataError):
        WalkOrder.checked(**GOOD | changes)


def test_refuses_arrays_of_other_sizes_and_types():
    order = WalkOrder.checked(**GOOD)
    for logits, start in (
        (torch.zeros(3), torch.zeros(4)),
        (torch.zeros(4), torch.zeros(5)),
        (torch.zeros(4), torch.zeros(4, dtype=torch.float64)),
    ):
        with pytest.raises(DataError, match="walk_steps needs"):
            walk_steps(order, logits, start)
    with pytest.raises(UsageError, match="float32 and float64"):
        walk_steps(order, torch.zeros(4).half(), torch.zeros(4).half())
