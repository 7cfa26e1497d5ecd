"""What a model says of a prefix, against every path gone through one by one."""

import itertools
from collections import Counter, defaultdict

import numpy as np
import pytest
import torch
from crossroads import EDGES, NODES, WITH_LOOP, crossroads, model_for
from walkers import all_paths

from lipgnn.errors import DataError, UsageError
from lipgnn.extrapolate import extrapolate, prefix_of
from lipgnn.extrapolate.continuations import continuations_of
from lipgnn.tasks.batches.surroundings import Asked, Roads

CPU = torch.device("cpu")
MODELS = [
    pytest.param({"walk": "nb"}, id="nb"),
    pytest.param({"walk": "plain", "loss": "nll"}, id="plain"),
    pytest.param({"walk": "nb", "model": "gat", "hidden": 4, "heads": 2, "layers": 2, "norm": "lip"}, id="gat"),
]


@pytest.fixture(scope="module")
def roads():
    return crossroads()


def logits_of_all(saved, roads, prefix):
    """The logits of all edges, from a scene in which the whole graph is needed."""
    shown = len(prefix.nodes)
    alone = type(roads)(**{**vars(roads), "observed_nodes": prefix.nodes, "observed_weights": prefix.weights})
    last, every = torch.tensor([shown - 1]), torch.arange(len(WITH_LOOP))
    asked = Asked(torch.arange(shown)[None], last, last, torch.tensor([0, len(every)]), every, torch.tensor([0]))
    around = Roads(saved.spec, alone, CPU)
    side, _ = around.scene(asked, walked=True)
    graph, x = around.around(asked, whole=True)
    with torch.no_grad():
        logits = saved.network.edge_logits(graph, x).double()
    return logits[torch.argsort(side.edges)].tolist()


def enumerated(logits, prefix, steps, kind):
    """Every edge path from the last observation: [(nodes, edges, of start, probability)]."""
    found = []
    for node, weight in zip(prefix.nodes[-1].tolist(), prefix.weights[-1].tolist(), strict=True):
        for edges, probability in all_paths(WITH_LOOP, logits, node, steps, kind) if weight else ():
            found.append(((node, *(WITH_LOOP[edge][1] for edge in edges)), edges, weight, probability))
    return found


@pytest.mark.parametrize("values", MODELS)
@pytest.mark.parametrize("steps", [0, 1, 2, 4])
def test_ends_are_the_sums_over_all_paths(roads, values, steps):
    saved = model_for(roads, **values)
    prefix = prefix_of("trajectory:0:3", roads, saved.spec)
    found = extrapolate(saved, roads, prefix, CPU, steps=steps)
    mass = Counter()
    for nodes, _, start, probability in enumerated(logits_of_all(saved, roads, prefix), prefix, steps, values["walk"]):
        mass[nodes[-1]] += start * probability
    assert dict(zip(found.ends.tolist(), found.probabilities.tolist(), strict=True)) == pytest.approx(mass, abs=1e-6)
    assert found.probabilities.sum() == pytest.approx(1, abs=1e-12)
    assert (np.diff(found.probabilities) <= 0).all()


@pytest.mark.parametrize("values", MODELS)
@pytest.mark.parametrize("steps", [0, 1, 3])
def test_likelihoods_of_all_continuations_sum_to_one(roads, values, steps):
    """Every sequence of nodes along edges, stays included; each as enumeration has it, edges between two summed."""
    saved = model_for(roads, **values)
    prefix = prefix_of("trajectory:0:3", roads, saved.spec)
    ways = {*WITH_LOOP, *((node, node) for node in range(NODES))}
    sequences = [
        list(nodes)
        for nodes in itertools.product(range(NODES), repeat=steps + 1)
        if nodes[0] in (2, 3) and all(pair in ways for pair in itertools.pairwise(nodes))
    ]
    # Nobody stays at the first step where no edge leads back.
    sequences = [nodes for nodes in sequences if steps == 0 or nodes[0] != nodes[1]]
    expected = defaultdict(float)
    for nodes, _, _, probability in enumerated(logits_of_all(saved, roads, prefix), prefix, steps, values["walk"]):
        expected[nodes] += probability
    asked = continuations_of(sequences, roads)
    found = extrapolate(saved, roads, prefix, CPU, steps=2, continuations=asked).likelihoods
    assert [one.nodes for one in found] == sequences
    for one in found:
        assert np.exp(one.log_probability) == pytest.approx(expected[tuple(one.nodes)], abs=1e-6)
        assert one.start_probability == 0.5
    for start in (2, 3):
        total = sum(np.exp(one.log_probability) for one in found if one.nodes[0] == start)
        assert total == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("values", MODELS)
def test_samples_have_the_frequencies_of_their_probabilities(roads, values):
    saved = model_for(roads, **values)
    prefix = prefix_of("trajectory:0:3", roads, saved.spec)
    drawn = extrapolate(saved, roads, prefix, CPU, steps=3, samples=20000, seed=5).samples
    expected, edges_of = Counter(), {}
    for nodes, edges, start, probability in enumerated(logits_of_all(saved, roads, prefix), prefix, 3, values["walk"]):
        stays = [
            edge >= len(EDGES) or (values["walk"] == "nb" and place and edges[place - 1] == edge)
            for place, edge in enumerate(edges)
        ]
        key = (nodes, tuple(None if stay else edge for edge, stay in zip(edges, stays, strict=True)))
        expected[key] += start * probability
        edges_of[key] = probability
    counts = Counter((tuple(one.nodes), tuple(one.edges)) for one in drawn)
    assert counts.keys() <= expected.keys()
    for key, probability in expected.items():
        deviation = (20000 * probability * (1 - probability)) ** 0.5
        assert abs(counts[key] - 20000 * probability) <= 5 * deviation + 1
    for one in drawn[:50]:
        assert np.exp(one.log_probability) == pytest.approx(edges_of[tuple(one.nodes), tuple(one.edges)], abs=1e-6)
        assert one.start_probability == pytest.approx(0.5, abs=1e-15)


def test_the_same_seed_draws_the_same_and_another_does_not(roads):
    saved = model_for(roads)
    prefix = prefix_of("0,1,2", roads, saved.spec)

    def drawn(seed):
        found = extrapolate(saved, roads, prefix, CPU, steps=3, samples=20, seed=seed)
        return found.to_dict()["samples"]

    assert drawn(1) == drawn(1) != drawn(2)


def test_the_truth_is_judged_along_its_very_edges(roads):
    """Edge 2 is one of three from 1 to 2: a third of what their nodes have, or less."""
    saved = model_for(roads)
    prefix = prefix_of("trajectory:0", roads, saved.spec)
    found = extrapolate(saved, roads, prefix, CPU)
    paths = enumerated(logits_of_all(saved, roads, prefix), prefix, 2, "nb")
    (expected,) = (probability for _, edges, _, probability in paths if edges == (2, 6))
    assert found.steps == 2 and found.true_path.nodes == [1, 2, 3]
    assert np.exp(found.true_path.log_probability) == pytest.approx(expected, abs=1e-6)
    on_target = sum(probability for nodes, _, _, probability in paths if nodes[-1] in (2, 3))
    assert found.target_probability == pytest.approx(on_target, abs=1e-6)


def test_a_continuation_may_start_where_nobody_was_seen_and_be_of_any_length(roads):
    saved = model_for(roads)
    prefix = prefix_of("0,1", roads, saved.spec)
    asked = continuations_of([[5, 2, 3, 4, 4, 4], [1], [5, 2, 5]], roads)
    far, still, back = extrapolate(saved, roads, prefix, CPU, steps=1, continuations=asked).likelihoods
    assert far.start_probability == 0 and -np.inf < far.log_probability < 0
    assert (still.start_probability, still.log_probability) == (1, 0)
    assert back.log_probability == -np.inf


def test_the_order_of_nodes_has_no_part_in_the_answer(roads):
    """Theorem G8: relabelling permutes."""
    order = np.array([3, 5, 0, 1, 4, 2])  # the new number of every node
    back = np.argsort(order)
    moved = type(roads)(
        **{
            **vars(roads),
            "node_features": roads.node_features[back],
            "sources": order[roads.sources],
            "targets": order[roads.targets],
        }
    )
    saved = model_for(roads)
    ours = extrapolate(saved, roads, prefix_of("0,1,2", roads, saved.spec), CPU, steps=3)
    theirs = extrapolate(
        saved, moved, prefix_of(",".join(str(order[node]) for node in (0, 1, 2)), moved, saved.spec), CPU, steps=3
    )
    expected = dict(zip(order[ours.ends].tolist(), ours.probabilities, strict=True))
    assert dict(zip(theirs.ends.tolist(), theirs.probabilities, strict=True)) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    "orders, words",
    [
        ({}, "How many steps"),
        ({"steps": -1}, "0 to 10000 steps, got -1"),
        ({"steps": 10001}, "got 10001"),
        ({"steps": 1, "samples": -1}, "-1 samples of 1 steps"),
        ({"steps": 1, "samples": 2**27}, "134217728 samples of 1 steps"),
    ],
)
def test_numbers_out_of_range_are_refused(roads, orders, words):
    saved = model_for(roads)
    with pytest.raises(UsageError, match=words):
        extrapolate(saved, roads, prefix_of("0,1", roads, saved.spec), CPU, **orders)


def test_models_and_data_that_do_not_fit_are_refused(roads):
    saved = model_for(roads)
    prefix = prefix_of("0,1", roads, saved.spec)
    of_nodes = type(saved)(**{**vars(saved), "task": "nodes"})
    with pytest.raises(UsageError, match="task is nodes"):
        extrapolate(of_nodes, roads, prefix, CPU, steps=1)
    narrower = type(roads)(**{**vars(roads), "node_features": roads.node_features[:, :1]})
    with pytest.raises(DataError, match=r"2 features of nodes and 1 of edges; .* has 1 and 1"):
        extrapolate(saved, narrower, prefix, CPU, steps=1)
