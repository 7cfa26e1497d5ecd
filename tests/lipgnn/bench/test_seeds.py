"""Several seeds as one stacked graph: copies that do not touch, compared run by run."""

from __future__ import annotations

import numpy as np
import torch
from networks import bare

from lipgnn.bench.seeds import bench_seeds, stacked
from lipgnn.datasets import load
from lipgnn.spec.run import RunSpec


def test_every_copy_computes_what_the_data_set_alone_does():
    dataset = load("planted")
    copies = stacked(dataset, 3)
    nodes = dataset.num_nodes
    assert copies.num_nodes == 3 * nodes and copies.edges.shape[1] == 3 * dataset.edges.shape[1]
    assert copies.split.train.sum() == 3 * dataset.split.train.sum()
    network = bare(dataset.num_features, dataset.num_classes, layers=2, norm="lip").eval()
    with torch.no_grad():
        alone, together = (network(data.graph, data.features) for data in (dataset, copies))
    for copy in range(3):
        torch.testing.assert_close(together[copy * nodes : (copy + 1) * nodes], alone)


def test_sparse_features_stay_sparse():
    copies = stacked(load("cora"), 2)
    assert copies.features.is_sparse
    np.testing.assert_array_equal(copies.features_array[2708].toarray(), copies.features_array[0].toarray())


def test_times_are_shared_out_over_cores_and_seeds(monkeypatch):
    monkeypatch.setattr("lipgnn.bench.seeds.interleave", lambda steps, repeats, tell: {key: [12.0] for key in steps})
    spec = RunSpec(dataset="planted", layers=1)
    rows = bench_seeds(load("planted"), spec, seeds=3, cores=2, repeats=1, tell=print).rows
    assert [(row.what, row.ms) for row in rows[:2]] == [("separate", 6.0), ("stacked", 4.0)]
    assert (rows[2].what, rows[2].ratio) == ("separate / stacked", 1.5)
