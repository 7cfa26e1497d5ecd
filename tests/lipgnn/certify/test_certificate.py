"""Certificates of small models against what can be computed by hand from logits and bounds."""

import dataclasses
import json
import math

import pytest
import torch
from networks import network_of

from lipgnn.certify import certify, layer_bounds, network_bound
from lipgnn.certify.certificate import VACUOUS
from lipgnn.errors import DataError, UsageError
from lipgnn.tasks.saved import SavedModel

CPU = torch.device("cpu")


@pytest.fixture
def model(small_spec, load_for):
    """model(norm="none") -> a network that has learned nothing, and its data."""

    def make(**values):
        values = {"norm": "lip", "residual": "identity", "weight_norm": "fix:0.1", "attn_dropout": 0.0} | values
        spec = small_spec.with_values(**values)
        dataset = load_for(spec)
        torch.manual_seed(0)
        network = network_of(spec, dataset.num_features, dataset.num_classes).eval()
        shape = (dataset.num_features, dataset.num_classes)
        return SavedModel(network, spec, dataset.fingerprint, dataset.task, shape, None), dataset

    return make


def test_radii_shares_and_accuracy_are_those_of_the_logits(model):
    saved, dataset = model()
    network = saved.network.double()
    with torch.no_grad():
        logits = network(dataset.graph, dataset.features.double())[dataset.test_mask]
    labels = dataset.labels[dataset.test_mask]
    bound = network_bound(network, layer_bounds(network, dataset.graph)).value
    ordered = logits.sort(dim=1, descending=True).values
    expected = (ordered[:, 0] - ordered[:, 1]) / (math.sqrt(2) * bound)
    middle = expected.sort().values[(len(expected) - 1) // 2].item()
    radii = [middle / 2, 2 * middle]
    found = certify(saved, dataset, CPU, radii=radii, tries=1)
    assert found.network["bound"] == pytest.approx(bound)
    assert found.median_radius == pytest.approx(middle)
    length = dataset.features.double().square().sum(dim=1).mean().sqrt().item()
    assert found.feature_length == pytest.approx(length)
    assert found.median_relative == pytest.approx(middle / length)
    right = logits.argmax(dim=1) == labels
    for row, radius in zip(found.radii, radii, strict=True):
        assert row["radius"] == radius and row["relative"] == pytest.approx(radius / length)
        assert row["certified"] == pytest.approx((expected > radius).double().mean().item())
        assert row["accuracy"] == pytest.approx(((expected > radius) & right).double().mean().item())


@pytest.mark.parametrize("others", [{}, {"encoder": "none", "residual": "linear"}], ids=["encoder", "none"])
def test_a_certificate_says_what_it_certifies_and_withstands_attack(model, others):
    saved, dataset = model(**others)
    told = []
    found = certify(saved, dataset, CPU, tries=2, progress=told.append)
    assert not found.vacuous and found.median_relative > VACUOUS
    assert found.attack["tries"] == 2 and found.attack["flipped"] == 0
    assert "keep their class under any change of the features up to" in found.verdict
    assert f"{found.median_radius:.3g}" in found.verdict
    assert found.network["empirical"] <= found.network["bound"]
    assert [row["layer"] for row in found.layers] == [1, 2]
    assert all(0 < row["empirical"] <= row["bound"] and row["reason"] is None for row in found.layers)
    shares = [row["certified"] for row in found.radii]
    assert shares == sorted(shares, reverse=True) and all(row["accuracy"] <= row["certified"] for row in found.radii)
    assert any("Attack 1 of 2" in text for text in told)
    json.dumps(dataclasses.asdict(found), allow_nan=False)


def test_without_a_bound_nothing_is_certified_and_it_says_why(model):
    found = certify(*model(norm="none"), CPU)
    assert (found.median_radius, found.vacuous) == (0, True)
    assert found.network["bound"] is found.network["log10_bound"] is None
    assert found.attack == {"tries": 0, "flipped": 0, "multiples": []}
    assert all(row["certified"] == 0 for row in found.radii)
    assert "plain attention is not Lipschitz: use --norm lip" in found.verdict
    json.dumps(dataclasses.asdict(found), allow_nan=False)


def test_a_bound_that_is_good_for_nothing_is_called_vacuous(model):
    found = certify(*model(weight_norm="fix:100", layers=8), CPU, tries=0)
    assert found.vacuous and found.verdict.startswith("Vacuous")
    assert found.network["log10_bound"] > 10


def test_bounds_beyond_all_numbers_do_not_overflow(model):
    found = certify(*model(model="gcn", norm="none", weight_norm="fix:1e20", residual="none", layers=20), CPU, tries=1)
    assert found.network["bound"] is None and found.network["log10_bound"] > 390
    assert found.vacuous and found.verdict.startswith("Vacuous")
    json.dumps(dataclasses.asdict(found), allow_nan=False)


def test_a_network_that_does_not_look_at_its_input_is_certain_of_everything(model):
    saved, dataset = model()
    with torch.no_grad():
        saved.network.decoder.weight.zero_()
        saved.network.decoder.bias.copy_(torch.arange(4.0))
    found = certify(saved, dataset, CPU)
    assert found.median_radius is None and not found.vacuous
    assert "whatever the features are" in found.verdict
    assert all(row["certified"] == 1 for row in found.radii)
    json.dumps(dataclasses.asdict(found), allow_nan=False)


def test_the_model_is_left_as_it_was(model):
    saved, dataset = model()
    before = {name: tensor.clone() for name, tensor in saved.network.state_dict().items()}
    certify(saved, dataset, CPU, tries=1)
    after = saved.network.state_dict()
    assert all(
        tensor.dtype == after[name].dtype and torch.equal(tensor, after[name]) for name, tensor in before.items()
    )


def test_what_has_no_certificate_is_refused(model):
    saved, dataset = model()
    trees, data = model(dataset="trees:2:4", features="raw", batch_size=5)
    with pytest.raises(UsageError, match="whole numbers"):
        certify(trees, data, CPU)
    labels = torch.ones(400, 3).numpy()
    several = dataclasses.replace(dataset, source=dataclasses.replace(dataset.source, labels=labels))
    with pytest.raises(UsageError, match="these nodes have yes-or-no labels"):
        certify(saved, several, CPU)
    untested = dataclasses.replace(dataset.split, test=~dataset.split.test & dataset.split.test)
    with pytest.raises(DataError, match="no test nodes"):
        certify(saved, dataclasses.replace(dataset, split=untested), CPU)


def test_a_linear_map_is_not_certified(model):
    saved, dataset = model(layers=0, weight_norm="none", norm="lip")
    with pytest.raises(UsageError, match="this network is one linear map"):
        certify(saved, dataset, CPU)
