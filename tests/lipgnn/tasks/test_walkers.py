"""Measures of walks by hand: every window on its own, every path enumerated, groups by loops."""

import math
from collections import defaultdict

import numpy as np
import pytest
import torch
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import shortest_path
from walkers import all_paths
from wanderers import NODES, wanderers

from lipgnn.catalog import PATH_MEASURES
from lipgnn.datasets.windows import windows_of
from lipgnn.spec.sources import resolve
from lipgnn.tasks import find_task, walkers
from lipgnn.tasks.batches import logits_of
from lipgnn.tasks.walkers import (
    STANDING,
    Rivals,
    by_horizon,
    has_single_nodes,
    measured,
    rows_of,
    tables_of,
    uniform_kinds,
)
from lipgnn.walks.outcomes import OUTCOMES

CPU = torch.device("cpu")


def prepared(dataset, **changes):
    options = {"dataset": "planar", "model": "diffusion", "layers": 3, "observed": 2, "dtype": "float64", **changes}
    spec = resolve(options, {}).spec
    task = find_task("paths")
    torch.manual_seed(0)
    network = task.network(spec, *dataset.shape).eval()
    return spec, network, task.batches(spec, dataset, CPU)


def windows_of_test(dataset):
    return [w for w, t in enumerate(windows_of(dataset, 2, "next").trajectory) if dataset.split.test[t]]


@pytest.mark.parametrize("kind", ["plain", "nb"])
def test_a_uniform_walk_is_what_all_its_paths_say(kind):
    dataset = wanderers(trajectories=20, longest=4)
    edges = list(zip(dataset.sources.tolist(), dataset.targets.tolist(), strict=True))
    windows = windows_of(dataset, 2, "next")
    _, _, batches = prepared(dataset)
    found = rows_of(batches, {"uniform": kind})["uniform"]
    chosen = windows_of_test(dataset)
    assert len(found) == len(chosen)
    for row, window in zip(found.tolist(), chosen, strict=True):
        start = int(dataset.observed_nodes[windows.start[window], 0])
        target = int(dataset.observed_nodes[windows.target[window], 0])
        path = tuple(windows.edges[windows.first_edge[window] : windows.first_edge[window + 1]].tolist())
        paths = dict(all_paths(edges, [0.0] * len(edges), start, len(path), kind))
        named = dict(zip(OUTCOMES, row, strict=False))
        assert named["horizon"] == len(path) == named["decisions"]
        assert named["nll"] == pytest.approx(-math.log(paths[path]))
        ends = sum(probability for taken, probability in paths.items() if edges[taken[-1]][1] == target)
        assert named["target_probability"] == pytest.approx(ends)


def test_measures_by_horizon_are_those_of_the_windows_of_each():
    rows = torch.rand(40, len(OUTCOMES) + 2, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    steps = torch.arange(40) % 7 + 2
    rows[:, OUTCOMES.index("horizon")] = steps.double()
    rows[:, -1] = math.nan
    groups = defaultdict(list)
    for row, horizon in zip(rows.tolist(), steps.tolist(), strict=True):
        groups[horizon].append(dict(zip((*OUTCOMES, *STANDING), row, strict=True)))
    found = by_horizon(rows)
    assert found.keys() == groups.keys()
    for horizon, windows in groups.items():

        def total(name, windows=windows):
            return sum(window[name] for window in windows)

        expected = {
            "target_probability": total("target_probability") / len(windows),
            "precision_top1": total("top1") / len(windows),
            "precision_top5": total("top5") / len(windows),
            "choice_accuracy": total("hits") / total("decisions"),
            "choice_accuracy_deg3": total("hits_deg3") / total("decisions_deg3"),
            "path_nll": total("nll") / len(windows),
            "path_nll_deg3": total("nll_deg3") / len(windows),
            "target_rank": total("target_rank") / len(windows),
            "pairwise_accuracy": None,
            "horizon_windows": len(windows),
        }
        assert {*PATH_MEASURES, *STANDING} < expected.keys()
        assert found[horizon] == pytest.approx(expected)


def test_of_no_windows_there_are_no_measures():
    assert set(measured(None).values()) == set(measured(torch.zeros(0, len(OUTCOMES) + 2)).values()) == {None}


def test_rivals_are_ends_of_trajectories_as_far_from_the_start_as_the_target():
    dataset = wanderers(trajectories=9)
    ends = (dataset.sources, dataset.targets)
    far = shortest_path(coo_matrix((np.ones(len(ends[0])), ends), shape=(NODES, NODES)).tocsr(), unweighted=True)
    goals = {int(dataset.observed_nodes[last - 1, 0]) for last in dataset.first_observation[1:]}
    assert len(goals) < NODES
    _, _, batches = prepared(dataset)
    (batch,) = batches.of(batches.parts["test"])
    scene = batch.graph.scene
    found = batch.of_items(Rivals(dataset).of(scene))
    windows = windows_of(dataset, 2, "next")
    for row, window in zip(found.tolist(), windows_of_test(dataset), strict=True):
        start, target = (int(dataset.observed_nodes[at[window], 0]) for at in (windows.start, windows.target))
        assert row == [node in goals and far[start, node] == far[start, target] for node in range(NODES)]


def test_the_model_s_row_is_what_its_run_says_and_the_uniform_ones_know_no_weights():
    dataset = wanderers()
    spec, network, batches = prepared(dataset)
    tables = tables_of(spec, dataset, network, batches)
    task, test = find_task("paths"), batches.parts["test"]
    walks = {row["walk"]: row for row in tables["walks"].rows}
    assert list(walks) == ["model", "uniform", "uniform-nb"]
    expected = task.measures(logits_of(network, batches)[test], batches.labels[test])
    assert {name: walks["model"][name] for name in expected} == pytest.approx(expected)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.zero_()
    zero = {row["walk"]: row for row in tables_of(spec, dataset, network, batches)["walks"].rows}
    assert zero["uniform"] == walks["uniform"] and zero["uniform-nb"] == walks["uniform-nb"]
    # Without weights all edges are alike, and the walk does not go back.
    assert spec.walk == "nb" and zero["model"] == {**walks["uniform-nb"], "walk": "model"}


def test_groups_by_horizon_have_all_windows_three_times():
    dataset = wanderers(trajectories=60)
    spec, network, batches = prepared(dataset)
    tables = tables_of(spec, dataset, network, batches)
    rows = tables["horizons"].rows
    assert 3 < len(rows) <= 24
    assert sum(row["windows"] for row in rows) == 3 * len(batches.parts["test"])
    # Means over windows of a group are brought back to the mean over all.
    for walk in tables["walks"].rows:
        own = [row for row in rows if row["walk"] == walk["walk"]]
        total = sum(row["windows"] * row["path_nll"] for row in own) / len(batches.parts["test"])
        assert walk["path_nll"] == pytest.approx(total)


def test_targets_of_several_nodes_have_no_standing():
    for single in (True, False):
        dataset = wanderers(single=single)
        assert has_single_nodes(dataset) is single
        spec, network, batches = prepared(dataset)
        (row, *_) = tables_of(spec, dataset, network, batches)["walks"].rows
        assert all((row[name] is not None) is single for name in STANDING)


def test_where_too_many_edges_follow_each_other_that_walk_is_left_out(monkeypatch):
    dataset = wanderers()
    monkeypatch.setattr(walkers, "MOST_CONTINUATIONS", 10)
    assert uniform_kinds(dataset) == {"uniform": "plain"}
    spec, network, batches = prepared(dataset, horizon="shortest:1.1")
    table = tables_of(spec, dataset, network, batches)["walks"]
    assert table.rows[2] == {"walk": "uniform-nb", **dict.fromkeys((*PATH_MEASURES, *STANDING))}
    assert any("uniform-nb is left out" in note for note in table.notes)
    assert any("shortest:1.1, 1.1 times" in note for note in table.notes)
