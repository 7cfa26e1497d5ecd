"""The estimate of a step's memory: against the count of every tensor, against the system, and what is made of it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import networks
import pytest
import torch
from networks import bare, network_of
from torch import nn

from lipgnn.spec.run import RunSpec
from lipgnn.tasks import load
from lipgnn.training.memory import COPIES, MARGIN, Estimate, _Allocations, check_weights, estimate, plan_memory
from lipgnn.training.state import Training

MODELS = [("gat", "lip"), ("gatv2", "lip"), ("gt", "lip+batch"), ("gcn", "none"), ("gin", "none"), ("ggnn", "pair")]


def ring(reference):
    """100 nodes with four edges each."""
    return reference.build([(i, (i * 7 + k) % 100) for i in range(100) for k in range(4)], nodes=100)


def loss(logits):
    return nn.functional.cross_entropy(logits, torch.arange(100) % 2)


def network(**options):
    torch.manual_seed(0)
    return bare(3, 2, **{"hidden": 8, "heads": 4, "residual": "scaled", "attn_dropout": 0.2} | options)


@pytest.mark.parametrize("stack", [{}, {"recompute_every": 1}, {"recompute_every": 4}, {"stack": "reversible"}])
@pytest.mark.parametrize(("model", "norm"), MODELS)
def test_the_estimate_is_the_count_of_all_tensors_of_a_whole_step(model, norm, stack, reference):
    deep, graph, x = network(model=model, norm=norm, layers=14, **stack), ring(reference), torch.randn(100, 3)
    expected = estimate(deep, graph, x, loss)
    weights = sum(p.nbytes for p in deep.parameters())
    with _Allocations() as allocations:
        gradients = torch.autograd.grad(loss(deep(graph, x)), list(deep.parameters()))
    del gradients
    activations = expected.peak(deep.recompute_every) - expected.now - COPIES * weights
    # Gradients of the weights come while activations go; on so small a graph they are no small part.
    assert activations - weights < allocations.peak < 1.1 * activations + weights


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("every", [0, 1, 4])
def test_features_without_an_encoder_are_counted_once(every, sparse, reference):
    """They are wider than what goes from block to block, and only sparse ones are made anew."""
    options = {"encoder": "none", "residual": "linear", "norm": "batch", "layers": 14, "hidden": 8, "heads": 4}
    deep = bare(300, 2, **options, recompute_every=every)
    graph, x = ring(reference), torch.randn(100, 300)
    x = x.to_sparse().coalesce() if sparse else x
    deep(graph, x)
    expected = estimate(deep, graph, x, loss)
    assert expected.boundary == 100 * 32 * 4
    weights = sum(p.nbytes for p in deep.parameters())
    with _Allocations() as allocations:
        gradients = torch.autograd.grad(loss(deep(graph, x)), list(deep.parameters()))
    del gradients
    activations = expected.peak(deep.recompute_every) - expected.now - COPIES * weights
    assert activations - weights < allocations.peak < 1.1 * activations + weights


@pytest.mark.parametrize(
    "dataset, options", [("trees:3:9", {"layers": 4}), ("planted", {"layers": 5, "batch_size": 30})]
)
def test_where_every_layer_has_a_graph_of_its_own_all_are_tried(dataset, options):
    spec = RunSpec(dataset=dataset, features="raw", hidden=8, heads=4, dropout=0, device="cpu", **options)
    training = Training(spec, load(dataset), torch.device("cpu"))
    graph, features, of_logits = training.example()
    # Once before, because the first use of a graph makes its tables.
    training.network(graph, features)
    expected = estimate(training.network, graph, features, of_logits)
    with _Allocations() as allocations:
        parameters = list(training.network.parameters())
        gradients = torch.autograd.grad(of_logits(training.network(graph, features)), parameters, allow_unused=True)
    del gradients
    weights = sum(p.nbytes for p in parameters)
    assert expected.peak(0) - expected.now == pytest.approx(allocations.peak + COPIES * weights, rel=0.02)
    assert expected.peak(1) < expected.peak(0)


def test_further_layers_cost_what_the_second_does_and_nothing_in_a_reversible_stack(reference):
    deep = network(layers=2, norm="lip", kernel="dgl")
    expected = estimate(deep, ring(reference), torch.randn(100, 3), loss)
    deeper = network(layers=3, norm="lip", kernel="dgl")
    counts = []
    for each in (deep, deeper):
        with _Allocations() as allocations:
            out = each(ring(reference), torch.ones(100, 3))
            counts.append(allocations.now)
        del out
    assert counts[1] - counts[0] == expected.block
    assert expected.boundary == 100 * 32 * 4
    assert estimate(network(layers=3, stack="reversible"), ring(reference), torch.ones(100, 3), loss).block == 0


@pytest.mark.parametrize("sparse", [False, True])
def test_the_trial_leaves_no_trace(sparse, reference):
    deep, x = network(layers=3, norm="lip+batch", dropout=0.5, recompute_every=2), torch.randn(100, 3)
    x = x.to_sparse().coalesce() if sparse else x
    before = {name: value.clone() for name, value in deep.state_dict().items()}
    state = torch.get_rng_state()
    estimate(deep, ring(reference), x, loss)
    assert torch.equal(torch.get_rng_state(), state)
    assert all(torch.equal(value, before[name]) for name, value in deep.state_dict().items())
    assert all(p.grad is None for p in deep.parameters())
    assert deep.recompute_every == 2 and deep.training


def test_a_run_is_the_same_with_and_without_the_trial(small_spec, load_for):
    records = []
    for tried in (False, True):
        training = Training(small_spec, load_for(small_spec), torch.device("cpu"))
        if tried:
            estimate(training.network, *training.example())
        records.append([(training.step().train_loss, training.step().grad_norm), training.network.state_dict()])
    assert records[0][0] == records[1][0]
    assert all(torch.equal(value, records[1][1][name]) for name, value in records[0][1].items())


SIZES = Estimate(now=1000, step=300, block=100, boundary=10, layers=20, probed=2)


@pytest.mark.parametrize(
    ("every", "peak"),
    [(0, 1300 + 18 * 100), (20, 3100), (50, 3100), (1, 1300 - 100 + 190), (5, 1300 + 300 + 30), (7, 1300 + 500 + 20)],
)
def test_the_peak_of_checkpoints_is_segments_and_one_of_them_unfolded(every, peak):
    assert SIZES.peak(every) == peak


def free_for(every: int) -> int:
    return int(MARGIN * (SIZES.peak(every) - SIZES.now)) + 1


@pytest.mark.parametrize(("free_of", "chosen"), [(0, 0), (19, 19), (7, 7), (5, 5), (2, 2)])
def test_auto_takes_the_largest_distance_that_fits(free_of, chosen):
    plan = plan_memory(SIZES, "auto", free_for(free_of))
    assert (plan.recompute_every, plan.fits, plan.chosen) == (chosen, True, chosen > 0)
    assert plan.peak == SIZES.peak(chosen)
    assert plan.notable == (chosen > 0)
    assert plan.frugal  # what the allocator holds would not fit
    assert not plan_memory(SIZES, "auto", 3 * (SIZES.peak(0) - SIZES.now)).frugal


def test_where_nothing_fits_the_least_is_taken_and_said():
    plan = plan_memory(SIZES, "auto", 100)
    assert plan.peak == min(SIZES.peak(every) for every in range(20))
    assert plan.recompute_every == 2  # as little as 1, and one block less to compute twice
    assert plan.notable and not plan.fits


def test_an_explicit_distance_is_kept():
    for free in (10, 10**9):
        plan = plan_memory(SIZES, "6", free)
        assert (plan.recompute_every, plan.chosen, plan.fits) == (6, False, free > 10)
        assert plan.frugal
    assert not plan_memory(SIZES, "0", 10**9).frugal


def test_a_reversible_stack_has_nothing_to_choose():
    plan = plan_memory(Estimate(now=1000, step=300, block=0, boundary=10, layers=20, probed=2), "auto", 100)
    assert (plan.recompute_every, plan.peak, plan.chosen, plan.fits) == (0, 1300, False, False)
    assert plan.frugal


def test_a_single_layer_is_an_ordinary_run(reference):
    expected = estimate(network(layers=1), ring(reference), torch.ones(100, 3), loss)
    plan = plan_memory(expected, "auto", 2**40)
    assert expected.block > 0 and expected.peak(0) == expected.now + expected.step
    assert (plan.recompute_every, plan.frugal) == (0, False)


def test_a_big_run_is_notable():
    assert plan_memory(Estimate(2**29, 2**29, 2**20, 10, 20, 2), "0", 2**40).notable


# Every configuration in a child that inherits the imports, whose largest memory is its own.
MEASURE = """
import json, os, sys
sys.path.insert(0, sys.argv[2])
import torch
import networks
from networks import bare
from lipgnn.training.memory import estimate
from lipgnn.runtime import dgl
from lipgnn.memory import memory_returned, peak_memory

def measure(options):
    draw = torch.Generator().manual_seed(0)
    nodes, edges = 12_000, 50_000
    graph = dgl.add_self_loop(dgl.graph(tuple(torch.randint(nodes, (2, edges), generator=draw)), num_nodes=nodes))
    x, labels = torch.randn(nodes, 32, generator=draw), torch.randint(5, (nodes,), generator=draw)
    network = bare(32, 5, hidden=16, heads=8, residual="scaled", **options)
    loss = lambda logits: torch.nn.functional.cross_entropy(logits, labels)
    expected = estimate(network, graph, x, loss)
    with memory_returned():
        loss(network(graph, x)).backward()
    return expected.peak(network.recompute_every) / 2**20, peak_memory() / 2**20, expected.now / 2**20

for options in json.loads(sys.argv[1]):
    if (child := os.fork()) == 0:
        print(json.dumps(measure(options)), flush=True)
        os._exit(0)
    os.waitpid(child, 0)
"""


def test_the_estimate_is_within_a_quarter_of_what_the_system_measures():
    cases = [
        {"model": "gcn", "layers": 24},
        {"model": "gat", "norm": "lip", "layers": 12, "recompute_every": 6},
        {"model": "gat", "norm": "lip", "layers": 4, "stack": "reversible"},
    ]
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, json.dumps(cases), str(Path(networks.__file__).parent)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0 and not done.stderr, done.stderr
    measured = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(measured) == 3
    for expected, peak, now in measured:
        assert 0.75 < expected / peak < 1.25
        assert peak > now
    growth = [(expected - now) / (peak - now) for expected, peak, now in measured[:2]]
    assert all(0.7 < share < 1.3 for share in growth), growth


def test_weights_that_are_allocated_all_the_same_are_not_looked_at_before_they_have_values(monkeypatch):
    """Those of DGL's layers; memory that nobody has written may hold anything, here NaN, of which there is no SVD."""
    spec = RunSpec(model="gcn", norm="none", layers=2, hidden=4, heads=1, weight_norm="fix:1")
    monkeypatch.setattr(torch.utils.deterministic, "fill_uninitialized_memory", True)
    torch.use_deterministic_algorithms(True)
    try:
        check_weights(lambda: network_of(spec, 3, 2), 2**30)
    finally:
        torch.use_deterministic_algorithms(False)
