import numpy as np
import pytest
import recording
import torch
from scipy.sparse.csgraph import connected_components

from lipgnn.catalog import models_with
from lipgnn.results.recordings import SIMILARITY, read_recording
from lipgnn.training.checkpoint import CheckpointFile
from lipgnn.training.recorders.similarity import SimilarityRecorder
from lipgnn.training.saving import restore, save

CPU = torch.device("cpu")
WITHOUT_ENCODER = {"encoder": "none", "residual": "linear"}


def train(training, recorder, epochs=3):
    return recording.train(training, recorder, epochs)


def recorded(training, path, epochs=3):
    return recording.recorded(SimilarityRecorder, training, path, epochs)


def composite(m):
    return np.sqrt(abs(m).sum(axis=0).max() * abs(m).sum(axis=1).max())


def numbers_now(training):
    """The five numbers of every column, (5, L + 1), by their definitions in numpy, and by torch.autograd.grad."""
    network = training.network
    graph, features, loss_of = training.example()
    xs = [network.encoder(features)]
    for block in network.blocks:
        xs.append(block(graph, xs[-1]))
    gradients = torch.autograd.grad(loss_of(network.decoder(network.dropout(xs[-1]))), xs)
    ends = [end.numpy() for end in graph.edges()]
    dense = np.zeros((graph.num_nodes(),) * 2)
    dense[ends[1], ends[0]] = 1
    labels = connected_components(dense, directed=False)[1]
    columns = []
    for x, gradient in zip(xs, gradients, strict=True):
        x, gradient = (array.detach().double().numpy() for array in (x, gradient))
        rest = x.copy()
        for label in set(labels):
            rest[labels == label] -= x[labels == label].mean(axis=0)
        sizes = [np.sqrt(((m - m.mean(axis=0)) ** 2).sum()) for m in (gradient, x)]
        columns.append([sizes[0], np.sqrt((gradient**2).sum()), sizes[1], np.sqrt((x**2).sum())])
        columns[-1].append(composite(rest) / composite(x))
    return np.array(columns).T


def expected(training, epochs=3):
    training.network.eval()
    rows = [numbers_now(training)]
    for _ in range(epochs):
        state = torch.get_rng_state()
        training.network.train()
        rows.append(numbers_now(training))
        torch.set_rng_state(state)
        training.step()
    return dict(zip(SIMILARITY, np.array(rows).transpose(1, 0, 2), strict=True))


@pytest.mark.parametrize(
    "options",
    [
        {"norm": "lip"},
        {"norm": "none", "dropout": 0, "attn_dropout": 0, "residual": "identity"},
        {"norm": "none", "kernel": "dgl", "residual": "none"},
        {"norm": "lip", "model": "gt", "dtype": "float64"},
        {"norm": "none", "model": "gcn", "attn_dropout": 0},
        {"norm": "lip", "clip": 1e-3},
        *({"norm": "none", "model": model, **WITHOUT_ENCODER} for model in models_with("value_map")),
        {"norm": "lip", "dropout": 0, "attn_dropout": 0, **WITHOUT_ENCODER},
        {"norm": "lip", **WITHOUT_ENCODER, "residual": "none"},
    ],
    ids=lambda options: ",".join(map(str, options.values())),
)
def test_the_numbers_are_those_of_the_definitions(training, tmp_path, options):
    arrays = recorded(training(**options), tmp_path / "s")
    assert arrays.keys() == {*SIMILARITY, "epochs"}
    assert arrays["epochs"].tolist() == [0, 1, 2, 3]
    for name, values in expected(training(**options)).items():
        assert (arrays[name].shape, arrays[name].dtype) == ((4, 4), options.get("dtype", "float32"))
        np.testing.assert_allclose(arrays[name], values, rtol=3e-4, err_msg=name)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"dropout": 0, "attn_dropout": 0, "norm": "lip"},
        {"recompute_every": "1"},
        {"stack": "reversible"},
        WITHOUT_ENCODER,
        {"dropout": 0, "attn_dropout": 0, "norm": "lip", **WITHOUT_ENCODER},
        {"recompute_every": "2", **WITHOUT_ENCODER},
    ],
    ids=lambda options: ",".join(options),
)
def test_recording_changes_nothing_to_the_last_bit(training, options):
    """Dropout draws and BatchNorm counts, so an epoch 0 that did either would be seen."""
    free = training(**options)
    expected = train(free, None)
    watched = training(**options)
    state = torch.get_rng_state()
    weights = {name: value.clone() for name, value in watched.network.state_dict().items()}
    recorder = SimilarityRecorder(watched)
    assert torch.equal(torch.get_rng_state(), state)
    assert all(torch.equal(value, weights[name]) for name, value in watched.network.state_dict().items())
    assert all(p.grad is None for p in watched.network.parameters())
    assert train(watched, recorder) == expected
    theirs = watched.network.state_dict()
    assert all(torch.equal(value, theirs[name]) for name, value in free.network.state_dict().items())


@pytest.mark.parametrize("others", [{}, WITHOUT_ENCODER], ids=["encoder", "none"])
@pytest.mark.parametrize("dropout", [0, 0.5])
def test_activations_computed_again_are_not_counted_again(training, tmp_path, dropout, others):
    options = {"layers": 5, "norm": "lip", "dropout": dropout, "attn_dropout": 0, **others}
    kept = recorded(training(**options), tmp_path / "kept")
    again = recorded(training(**options, recompute_every="2"), tmp_path / "again")
    for name in kept:
        np.testing.assert_array_equal(kept[name], again[name])


def test_a_reversible_stack_has_nothing_but_its_output(training, tmp_path):
    arrays = recorded(training(stack="reversible", norm="lip", attn_dropout=0), tmp_path / "s")
    for name in SIMILARITY:
        assert np.isnan(arrays[name][:, :-1]).all() and (arrays[name][:, -1] > 0).all()


def test_samples_of_neighbours_are_no_one_graph(training, tmp_path):
    arrays = recorded(training(batch_size=30, fanout=2, norm="lip", attn_dropout=0), tmp_path / "s", epochs=1)
    assert np.isnan(arrays["rank1"]).all()
    assert (arrays["grad_mu"] <= arrays["grad_norm"]).all() and (arrays["feat_mu"] > 0).all()


def test_a_resumed_recording_is_that_of_an_uninterrupted_run(training, tmp_path):
    whole = recorded(training(), tmp_path / "whole")
    first = training()
    recorder = SimilarityRecorder(first)
    train(first, recorder, 1)
    save(first, CheckpointFile(tmp_path))
    train(first, recorder, 1)
    recorder.save(tmp_path / "cut")
    second = training()
    restore(second, *CheckpointFile(tmp_path).read(second.spec))
    recorder = SimilarityRecorder(second, read_recording(tmp_path / "cut"))
    train(second, recorder, 2)
    recorder.save(tmp_path / "cut")
    assert (tmp_path / "cut").read_bytes() == (tmp_path / "whole").read_bytes()
    assert len(whole["epochs"]) == 4


def test_t8_an_exploding_network_is_marked_and_nothing_fails(training, tmp_path):
    """In float32 the gradient of 256 uncontrolled residual layers is not finite (gradient-expansion, T8)."""
    options = {"layers": 256, "model": "gcn", "norm": "none", "residual": "identity", "activation": "relu"}
    recorder = SimilarityRecorder(training(**options, hidden=32, heads=1, dropout=0, attn_dropout=0))
    recorder.save(tmp_path / "s")
    arrays = read_recording(tmp_path / "s")
    assert arrays["epochs"].tolist() == [0]
    assert not np.isfinite(arrays["grad_mu"][0, 0])
    assert np.isfinite(arrays["feat_mu"][0, 0])
