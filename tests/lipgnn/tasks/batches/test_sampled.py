"""Samples of a graph: whom they hold, that they can be repeated, and that with all neighbours they are exact."""

import dataclasses

import numpy as np
import pytest
import torch
from networks import network_of

from lipgnn.datasets import prepare
from lipgnn.runtime import EDGE_TYPE
from lipgnn.tasks.batches.sampled import SampledNodes

CPU = torch.device("cpu")


@pytest.fixture
def make(small_spec, load_for):
    """Batches of a small run, with changed options."""

    def call(**options):
        spec = small_spec.with_values(**{"batch_size": 30, "norm": "lip", **options})
        return SampledNodes(spec, load_for(spec), CPU), spec

    return call


def test_an_epoch_has_every_training_node_once(make):
    batches, _ = make()
    found = list(batches.epoch(1))
    assert [len(batch.items) for batch in found] == [30, 30, 20]
    assert torch.equal(torch.cat([batch.items for batch in found]).sort().values, batches.parts["train"])


def test_a_node_sees_itself_and_no_more_than_fanout_others(make):
    batches, _ = make(fanout=2)
    for batch in batches.epoch(1):
        assert len(batch.graph) == 2
        assert len(batch.features) == batch.graph[0].graph.num_nodes()
        for hop in batch.graph:
            assert hop.graph.in_degrees(torch.arange(hop.targets)).max() == 3


@pytest.mark.parametrize("threads", [1, 2])
def test_an_epoch_is_the_same_every_time_and_another_one_is_not(make, threads):
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        drawn = []
        for number in (3, 4, 3):
            batches, _ = make(fanout=2)
            drawn.append(
                [(b.items.tolist(), *(h.graph.edges()[0].tolist() for h in b.graph)) for b in batches.epoch(number)]
            )
        assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    assert drawn[0] == drawn[2] != drawn[1]


def test_the_random_state_of_the_run_is_left_alone(make):
    batches, _ = make()
    before = torch.get_rng_state()
    list(batches.epoch(1))
    assert torch.equal(before, torch.get_rng_state())


@pytest.mark.parametrize("others", [{}, {"encoder": "none", "residual": "linear"}], ids=["encoder", "none"])
def test_with_all_neighbours_the_logits_are_those_of_the_whole_graph(make, others):
    batches, spec = make(fanout=1000, **others)
    network = network_of(spec, 32, 4).eval()
    with torch.no_grad():
        whole = network(batches.graph, batches.features)
        for batch in batches.epoch(1):
            torch.testing.assert_close(network(batch.graph, batch.features), whole[batch.items])


def test_a_batch_larger_than_the_set_is_one_batch(make):
    (batch,) = make(batch_size=10**6)[0].epoch(1)
    assert len(batch.items) == 80


def test_sparse_features_stay_sparse(small_spec, load_for):
    spec = small_spec.with_values(dataset="cora", batch_size=70)
    data = load_for(spec)
    batches = SampledNodes(spec, data, CPU)
    first, _ = batches.epoch(1)
    assert first.features.is_coalesced()
    # Targets come first, in every hop.
    torch.testing.assert_close(first.features.to_dense()[:70], data.features.to_dense()[first.items])


def test_edges_of_samples_have_the_types_that_they_have_in_the_graph(small_spec, load_for):
    spec = small_spec.with_values(batch_size=30, model="gt", fanout=2)
    plain = load_for(spec)
    types = np.random.default_rng(0).integers(0, 3, plain.source.edges.shape[1])
    source = dataclasses.replace(plain.source, edge_types=types)
    dataset = prepare(source, plain.split)
    known = dict(zip(map(tuple, dataset.edges.T.tolist()), dataset.edge_types.tolist(), strict=True))
    batches = SampledNodes(spec, dataset, CPU)
    order = {tuple(row.tolist()): node for node, row in enumerate(dataset.features)}
    for batch in batches.epoch(1):
        hop = batch.graph[0]
        names = [order[tuple(row.tolist())] for row in batch.features]
        ends = zip(*(end.tolist() for end in hop.graph.edges()), strict=True)
        expected = [known[names[source], names[target]] for source, target in ends]
        assert hop.graph.edata[EDGE_TYPE].tolist() == expected


def test_without_layers_a_batch_is_its_nodes_alone(make):
    batches, _ = make(layers=0, batch_size=7)
    seen = []
    for batch in batches.epoch(1):
        assert list(batch.graph) == []
        assert torch.equal(_dense(batch.features), _dense(batches.features)[batch.items])
        seen += batch.items.tolist()
    assert sorted(seen) == batches.parts["train"].tolist()


def _dense(x):
    return x.to_dense() if x.is_sparse else x
