"""Model files: they need nothing beside them, and nothing in them does worse than an error with the file's name."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from networks import network_of

from lipgnn.datasets.standard import Statistics
from lipgnn.errors import DataError
from lipgnn.spec.run import RunSpec
from lipgnn.spec.sources import resolve
from lipgnn.tasks import find_task
from lipgnn.tasks.saved import load_model, save_model

SPEC = RunSpec(layers=2, hidden=2, heads=2)
DATA = SimpleNamespace(fingerprint="f", task="nodes", shape=(5, 3), class_names=("x", "y", "[/z]"), name="data")


@pytest.fixture
def model_file(tmp_path):
    torch.manual_seed(0)
    path = tmp_path / "best.safetensors"
    network = network_of(SPEC, 5, 3)
    save_model(path, network.state_dict(), spec=SPEC, dataset=DATA)
    return path


def test_a_model_file_needs_nothing_beside_it(model_file, tmp_path):
    moved = tmp_path / "elsewhere.safetensors"
    model_file.rename(moved)
    saved = load_model(moved)
    torch.manual_seed(0)
    expected = network_of(SPEC, 5, 3).state_dict()
    assert (saved.spec, saved.fingerprint, saved.task, saved.shape) == (SPEC, "f", "nodes", (5, 3))
    assert saved.class_names == ("x", "y", "[/z]")
    assert not saved.network.training
    assert all(torch.equal(value, expected[name]) for name, value in saved.network.state_dict().items())


def test_a_model_without_an_encoder_is_read_back(tmp_path):
    spec = SPEC.with_values(encoder="none", encoder_activation="none", residual="linear")
    torch.manual_seed(0)
    network = network_of(spec, 5, 3).eval()
    save_model(tmp_path / "m.safetensors", network.state_dict(), spec=spec, dataset=DATA)
    saved = load_model(tmp_path / "m.safetensors")
    assert saved.spec == spec and saved.network.bare
    found, expected = saved.network.state_dict(), network.state_dict()
    assert found.keys() == expected.keys() and all(torch.equal(found[name], expected[name]) for name in expected)


def test_a_missing_model_file_is_named(tmp_path):
    with pytest.raises(DataError, match=r"none\.safetensors"):
        load_model(tmp_path / "none.safetensors")


def _drop(weights):
    weights.pop("decoder.bias")


def _add(weights):
    weights["extra"] = torch.zeros(1)


def _reshape(weights):
    weights["decoder.bias"] = torch.zeros(9)


def _poison(weights):
    weights["decoder.bias"][0] = float("nan")


@pytest.mark.parametrize(
    "change, reason",
    [
        (_drop, "decoder.bias is missing"),
        (_add, "extra is not part of the model"),
        (_reshape, r"decoder.bias is \(9,\), not \(3,\)"),
        (_poison, "not finite"),
    ],
)
def test_tensors_that_do_not_fit_are_refused_by_name(tmp_path, change, reason):
    weights = network_of(SPEC, 5, 3).state_dict()
    change(weights)
    path = tmp_path / "m.safetensors"
    save_model(path, weights, spec=SPEC, dataset=DATA)
    with pytest.raises(DataError, match=reason):
        load_model(path)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_no_mutation_of_a_model_file_does_worse_than_a_data_error(model_file, tmp_path, data):
    content = bytearray(model_file.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, min(len(content) - 1, 1500)))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(content)))
    path = tmp_path / "mutated.safetensors"
    path.write_bytes(bytes(content[:cut] if data.draw(st.booleans()) else content))
    try:
        load_model(path)
    except DataError as error:
        assert str(path) in error.message


def test_a_model_for_data_without_features_is_read_back(tmp_path):
    spec = resolve({"dataset": "planar", "model": "diffusion", "layers": 2}, {}).spec
    network = find_task("paths").network(spec, 0, 1)
    data = SimpleNamespace(fingerprint="f", task="paths", shape=(0, 1), class_names=None, name="planar")
    save_model(tmp_path / "m.safetensors", network.state_dict(), spec=spec, dataset=data)
    assert load_model(tmp_path / "m.safetensors").shape == (0, 1)


def test_a_model_keeps_how_many_types_of_edges_it_is_for(tmp_path):
    spec, path = RunSpec(model="gt", layers=2, hidden=2, heads=2), tmp_path / "typed.safetensors"
    network = find_task("nodes").network(spec, 5, 3, 4)
    data = SimpleNamespace(**{**vars(DATA), "shape": (5, 3, 4)})
    save_model(path, network.state_dict(), spec=spec, dataset=data)
    saved = load_model(path)
    assert saved.shape == (5, 3, 4) and saved.network.blocks[0].conv.edge_type.shape == (4, 2, 2)
    save_model(path, network.state_dict(), spec=spec, dataset=DATA)
    with pytest.raises(DataError, match="edge_type is not part of the model"):
        load_model(path)
    save_model(path, network.state_dict(), spec=spec, dataset=SimpleNamespace(**{**vars(DATA), "shape": (5, 3, 4, 1)}))
    with pytest.raises(DataError, match=r"its shape is \[5, 3, 4, 1\]"):
        load_model(path)


def test_a_model_of_standardized_features_keeps_their_scale(tmp_path):
    spec = SPEC.with_values(features="standard")
    statistics = Statistics(np.array([0.1, 2, 3, 4, 5]), np.array([1.0, 1 / 3, 2, 2, 2]))
    path = tmp_path / "best.safetensors"
    data = SimpleNamespace(**vars(DATA), statistics=statistics)
    save_model(path, network_of(spec, 5, 3).state_dict(), spec=spec, dataset=data)
    saved = load_model(path)
    assert saved.statistics.to_dict() == statistics.to_dict()
    save_model(path, saved.network.state_dict(), spec=spec, dataset=saved)
    assert load_model(path).statistics.to_dict() == statistics.to_dict()
    save_model(path, saved.network.state_dict(), spec=spec, dataset=DATA)
    with pytest.raises(DataError, match="does not say by which means"):
        load_model(path)
    data.statistics = Statistics(np.zeros(4), np.ones(4))
    save_model(path, saved.network.state_dict(), spec=spec, dataset=data)
    with pytest.raises(DataError, match="not 5 numbers"):
        load_model(path)
