"""The verdict on rows made by hand, and on networks built to be ill in one way each, or well."""

from __future__ import annotations

import pytest
import torch
from networks import network_of

from lipgnn.catalog import SUMS_RECIPE
from lipgnn.datasets import load
from lipgnn.diagnose.data import WholeData
from lipgnn.diagnose.findings import HEALTHY, Finding, Option
from lipgnn.diagnose.profile import profile
from lipgnn.diagnose.verdict import (
    COLLAPSED,
    LEAST_GROWTH,
    MOST_GROWTH,
    OPTIONS,
    SMOOTHED,
    VERDICTS,
    judge,
)
from lipgnn.runtime import seed_all
from lipgnn.spec.run import RunSpec

SPLIT = Option({"split": "random:0"}, "draws")
# Networks of sixteen features on the planted partition, built to be ill in one way.
NETWORKS = {
    # Every layer of ReLU loses half of the gradient, and nothing goes past it.
    "vanishing": {"model": "gcn", "layers": 40, "residual": "none", "activation": "relu"},
    # Every layer adds about as much as there is, and the gradient doubles on its way back.
    "exploding": {"model": "gcn", "layers": 64, "residual": "identity", "activation": "relu"},
    # Maps that keep all lengths, so that only the averages over neighbours are left.
    "over-smoothed": {"model": "gcn", "layers": 16, "residual": "none", "activation": "none", "init": "orthogonal"},
    # Dot-product attention alone, without skip or MLP: its limit is one row.
    "collapsed": {
        "model": "gt",
        "layers": 40,
        "residual": "none",
        "activation": "none",
        "skip": "none",
        "init": "orthogonal",
    },
    "healthy": {"model": "gat", "layers": 40, "residual": "scaled", "norm": "lip"},
}


def rows(layers=10, **changes):
    """Those of a network in which nothing changes, but for what the functions of the layer say."""
    same = {"grad_norm": 1.0, "feat_norm": 1.0, "mad": 0.5, "rank1_residual": 0.8, "contraction": 1.0}
    return [
        {**same, "layer": layer, **{name: change(layer) for name, change in changes.items()}}
        for layer in range(layers + 1)
    ]


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_made_to_be_so_is_called_so(name, seed):
    options = {"norm": "none", "hidden": 8, "heads": 2, **NETWORKS[name]}
    spec = RunSpec(**{**SUMS_RECIPE, "dataset": "planted", "seed": seed, "device": "cpu", **options})
    dataset = load("planted")
    seed_all(seed)
    network = network_of(spec, dataset.num_features, dataset.num_classes)
    found = profile(network, WholeData.of(spec, dataset, torch.device("cpu")))
    verdict = judge(found.layers, spec=spec, second_eigenvalue=found.second_eigenvalue, components=found.components)
    assert verdict.name == name, verdict.evidence
    assert bool(verdict.options) == (name != HEALTHY)


def test_nothing_that_changes_is_healthy():
    verdict = judge(rows())
    assert (verdict.name, verdict.layer, verdict.words, verdict.options) == (HEALTHY, None, HEALTHY, ())
    assert "1 times" in verdict.evidence[0]


@pytest.mark.parametrize(("factor", "name"), [(0.9, HEALTHY), (1.1, "exploding")])
def test_a_gradient_explodes_beyond_the_threshold(factor, name):
    growth = MOST_GROWTH * factor
    assert judge(rows(grad_norm=lambda layer: growth ** (1 - layer / 10))).name == name


@pytest.mark.parametrize(("factor", "name"), [(1.1, HEALTHY), (0.9, "vanishing")])
def test_a_gradient_vanishes_beyond_the_threshold(factor, name):
    growth = LEAST_GROWTH * factor
    verdict = judge(rows(grad_norm=lambda layer: growth ** (1 - layer / 10)))
    assert verdict.name == name


def test_gradients_are_judged_where_they_are_largest_and_smallest():
    assert judge(rows(grad_norm=lambda layer: 1e5 if layer == 4 else 1.0)).name == "exploding"
    verdict = judge(rows(grad_norm=lambda layer: 0.0 if layer == 4 else 1.0))
    assert verdict.name == "vanishing"
    assert "layer 4" in verdict.evidence[0]


def test_a_loss_without_any_gradient_says_nothing_of_depth():
    assert judge(rows(grad_norm=lambda layer: 0.0)).name == HEALTHY


def test_what_is_not_finite_explodes_from_where_it_is_so():
    features = judge(rows(feat_norm=lambda layer: 1.0 if layer < 7 else None, grad_norm=lambda layer: None))
    assert (features.name, features.layer) == ("exploding", 7)
    assert features.words == "exploding from layer 7"
    gradients = judge(rows(grad_norm=lambda layer: None if layer < 3 else 1.0))
    assert (gradients.name, gradients.layer) == ("exploding", None)
    assert "layer 2" in gradients.evidence[0]
    assert "encoder" in judge(rows(feat_norm=lambda layer: None, grad_norm=lambda layer: None)).evidence[0]


@pytest.mark.parametrize(
    ("name", "column", "share"), [("over-smoothed", "mad", SMOOTHED), ("collapsed", "rank1_residual", COLLAPSED)]
)
def test_smoothness_counts_from_the_layer_after_which_it_lasts(name, column, share):
    def fall(layer):
        # A dip at layer 2 that is made good does not count.
        return 0.5 * share * 0.9 if layer == 2 or layer >= 6 else 0.5

    verdict = judge(rows(**{column: fall}))
    assert (verdict.name, verdict.layer, verdict.words) == (name, 6, f"{name} from layer 6")
    recovered = judge(rows(**{column: lambda layer: 0.5 if layer == 10 else fall(layer)}))
    assert recovered.name == HEALTHY


def test_layers_that_were_not_measured_say_nothing():
    verdict = judge(rows(mad=lambda layer: None if layer % 2 else 0.5 if layer < 6 else 1e-4))
    assert (verdict.name, verdict.layer) == ("over-smoothed", 6)
    assert judge(rows(mad=lambda layer: None if layer == 10 else 0.1**layer)).name == HEALTHY


@pytest.mark.parametrize("column", ["mad", "rank1_residual"])
@pytest.mark.parametrize("value", [1e-9, 0.0, None])
def test_data_that_are_alike_from_the_start_are_not_blamed_on_depth(column, value):
    assert judge(rows(**{column: lambda layer: value})).name == HEALTHY


def test_the_gravest_comes_first_and_the_others_are_told():
    verdict = judge(rows(grad_norm=lambda layer: 10.0**layer, mad=lambda layer: 0.1**layer))
    assert [finding.name for finding in verdict.findings] == ["vanishing", "over-smoothed"]
    assert verdict.words == "vanishing; over-smoothed from layer 3"
    assert len(verdict.evidence) == 2
    assert [*OPTIONS] == [name for name in VERDICTS if name in OPTIONS]


def test_what_is_wrong_with_run_and_split_stands_beside_what_depth_does():
    further = [Finding("leak", None, "copies"), Finding("one-class", None, "one", (SPLIT,))]
    verdict = judge(rows(grad_norm=lambda layer: 10.0**layer), further=further)
    assert verdict.words == "one-class; vanishing; leak"
    assert verdict.evidence[0] == "one" and verdict.evidence[2] == "copies"
    assert verdict.options[0] == SPLIT and len(verdict.options) > 1
    well = judge(rows(), further=further)
    assert well.words == "one-class; leak" and "Depth does no harm" in well.evidence[2]


def test_the_walk_stands_beside_the_collapse():
    verdict = judge(
        rows(rank1_residual=lambda layer: 0.3**layer, contraction=lambda layer: 0.3 if layer else None),
        second_eigenvalue=0.25,
        components=4,
    )
    (sentence,) = [sentence for sentence in verdict.evidence if "λ₂" in sentence]
    assert "0.3 of the residual" in sentence and "λ₂ = 0.25 of the largest of 4 components" in sentence


def test_accuracy_is_evidence_where_it_is_known():
    verdict = judge(rows(), accuracy={"train": 0.875, "val": None, "test": 0.5})
    assert verdict.evidence[-1] == "It is right on 87.5% of the training set and on 50.0% of the test set."
    assert len(judge(rows(), accuracy={"train": None}).evidence) == 1


def test_options_are_those_the_run_lacks_and_can_have():
    exploding = rows(grad_norm=lambda layer: 10.0 ** (10 - layer))
    words = [option.words for option in judge(exploding).options]
    assert "--residual identity --weight-norm fix:4/L" in words and "--norm lip" in words
    spec = RunSpec(model="gcn", norm="none", residual="scaled")
    fitting = [option.words for option in judge(exploding, spec=spec).options]
    # gcn has no scores to normalize, and its residual is scaled already.
    assert "--norm lip" not in fitting and "--residual scaled" not in fitting
    for option in judge(exploding, spec=spec).options:
        assert spec.with_values(**option.values) != spec


def test_every_option_names_a_study_that_ships():
    from lipgnn.spec.study import study_names

    studies = {option.study for options in OPTIONS.values() for option in options}
    assert studies <= {*study_names()}


def test_what_is_no_accuracy_is_called_by_its_name():
    spec = RunSpec(dataset="minesweeper")
    evidence = judge(rows(), spec=spec, accuracy={"train": 0.875, "val": 0.5, "test": 0.75}).evidence
    assert evidence[-1] == "Its ROC-AUC is 87.5% on the training set and 75.0% on the test set."
    assert (
        judge(rows(), spec=spec, accuracy={"train": 0.875}).evidence[-1] == "Its ROC-AUC is 87.5% on the training set."
    )


@pytest.mark.parametrize(
    ("layers", "mean", "walk", "said"),
    [
        (30, 1.2, 5.0, True),
        (8, 2.0, 4.0, True),
        (4, 1.2, 5.0, False),
        (30, 2.5, 9.0, False),
        # The graph has no far nodes, or few.
        (30, 0.9, 1.0, False),
        (30, None, 5.0, False),
    ],
)
def test_many_layers_that_look_few_hops_far_are_told_as_evidence(layers, mean, walk, said):
    verdict = judge(rows(layers), reach={"mean_distance": mean, "walk_distance": walk})
    told = [sentence for sentence in verdict.evidence if "study reach" in sentence]
    assert len(told) == said
    assert verdict.name == HEALTHY
    assert not said or f"Its {layers} layers look {mean:.2g} hops far" in told[0]
