import numpy as np
import pytest
import recording
import torch
from networks import bare

from lipgnn.catalog import MODELS, layers_for, models_with
from lipgnn.results.recordings import GRADIENTS, read_recording
from lipgnn.training.checkpoint import CheckpointFile
from lipgnn.training.recorders.gradients import GradientRecorder
from lipgnn.training.saving import restore, save

CPU = torch.device("cpu")
WITHOUT_ENCODER = {"encoder": "none", "residual": "linear"}


def train(training, recorder, epochs=4):
    return recording.train(training, recorder, epochs)


def recorded(training, path, epochs=4):
    return recording.recorded(GradientRecorder, training, path, epochs)


def summary(gradients):
    """Frobenius norm, mean and largest absolute value, by their definitions."""
    entries = torch.cat([gradient.flatten().double() for gradient in gradients])
    return [(entries**2).sum().sqrt().item(), entries.abs().sum().item() / len(entries), entries.abs().max().item()]


def gradients_now(training, weights_only=False):
    """The six numbers of every layer, (6, L), by torch.autograd.grad through the blocks one after the other."""
    network = training.network.train()
    graph, features, loss_of = training.example()
    inputs = [network.encoder(features)]
    for block in network.blocks:
        inputs.append(block(graph, inputs[-1]))
    loss = loss_of(network.decoder(network.dropout(inputs.pop())))
    columns = []
    for block, x in zip(network.blocks, inputs, strict=True):
        matrices = [p for name, p in block.named_parameters() if name.rpartition(".")[2].startswith("weight")]
        found = torch.autograd.grad(loss, [*([] if weights_only else [x]), *matrices], retain_graph=True)
        of_input = [torch.nan] * 3 if weights_only else summary(found[:1])
        columns.append(summary(found[0 if weights_only else 1 :]) + of_input)
    return np.array(columns).T


def expected(training, epochs=4, **options):
    rows = []
    for _ in range(epochs):
        state = torch.get_rng_state()
        rows.append(gradients_now(training, **options))
        torch.set_rng_state(state)
        training.step()
    return dict(zip(GRADIENTS, np.array(rows).transpose(1, 0, 2), strict=True))


# Nothing but matrices is called weight here: batch normalization would have vectors of that name.
@pytest.mark.parametrize(
    "options",
    [
        {"norm": "lip"},
        {"norm": "none", "dropout": 0, "attn_dropout": 0},
        {"norm": "none", "kernel": "dgl", "residual": "none"},
        {"norm": "lip", "model": "gt", "dtype": "float64"},
        {"norm": "none", "model": "gcn", "attn_dropout": 0},
        {"norm": "none", "model": "ggnn", "attn_dropout": 0},
        {"norm": "lip", "clip": 1e-3},
        *({"norm": "none", "model": model, **WITHOUT_ENCODER} for model in models_with("value_map")),
        {"norm": "lip", "dropout": 0, "attn_dropout": 0, **WITHOUT_ENCODER},
        {"norm": "lip", **WITHOUT_ENCODER, "residual": "none"},
    ],
    ids=lambda options: ",".join(map(str, options.values())),
)
def test_the_numbers_are_those_of_the_definitions(training, tmp_path, options):
    arrays = recorded(training(**options), tmp_path / "g")
    assert arrays.keys() == {*GRADIENTS, "epochs"}
    assert arrays["epochs"].tolist() == [1, 2, 3, 4]
    for name, values in expected(training(**options)).items():
        assert (arrays[name].shape, arrays[name].dtype) == ((4, 3), options.get("dtype", "float32"))
        np.testing.assert_allclose(arrays[name], values, rtol=2e-4, err_msg=name)


@pytest.mark.parametrize("others", [{}, WITHOUT_ENCODER], ids=["encoder", "none"])
@pytest.mark.parametrize("dropout", [0, 0.5])
def test_activations_computed_again_are_not_counted_again(training, tmp_path, dropout, others):
    options = {"layers": 5, "norm": "lip", "dropout": dropout, "attn_dropout": 0, **others}
    kept = recorded(training(**options), tmp_path / "kept")
    again = recorded(training(**options, recompute_every="2"), tmp_path / "again")
    for name in kept:
        np.testing.assert_array_equal(kept[name], again[name])


def test_a_reversible_stack_has_gradients_of_weights_alone(training, tmp_path):
    options = {"stack": "reversible", "norm": "lip", "attn_dropout": 0, "dtype": "float64"}
    arrays = recorded(training(**options), tmp_path / "g")
    for name, values in expected(training(**options), weights_only=True).items():
        np.testing.assert_allclose(arrays[name], values, rtol=1e-4, err_msg=name)
    assert np.isnan(arrays["input_norm"]).all()


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
)
def test_recording_changes_nothing_to_the_last_bit(training, options):
    free = training(**options)
    expected = train(free, None)
    watched = training(**options)
    assert train(watched, GradientRecorder(watched)) == expected
    theirs = watched.network.state_dict()
    assert all(torch.equal(value, theirs[name]) for name, value in free.network.state_dict().items())


def test_a_resumed_recording_is_that_of_an_uninterrupted_run(training, tmp_path):
    whole = recorded(training(), tmp_path / "whole")
    first = training()
    recorder = GradientRecorder(first)
    train(first, recorder, 2)
    save(first, CheckpointFile(tmp_path))
    train(first, recorder, 1)
    recorder.save(tmp_path / "cut")
    second = training()
    restore(second, *CheckpointFile(tmp_path).read(second.spec))
    recorder = GradientRecorder(second, read_recording(tmp_path / "cut"))
    train(second, recorder, 2)
    recorder.save(tmp_path / "cut")
    assert (tmp_path / "cut").read_bytes() == (tmp_path / "whole").read_bytes()
    assert len(whole["epochs"]) == 4


def test_of_several_batches_the_largest_numbers_count(training, tmp_path):
    """Two steps before the end of an epoch are two batches."""
    single = recorded(training(), tmp_path / "single", 4)
    state = training()
    recorder = GradientRecorder(state)
    for epoch in (1, 2):
        state.step()
        state.step()
        recorder.end_epoch(epoch)
    recorder.save(tmp_path / "pairs")
    pairs = read_recording(tmp_path / "pairs")
    for name in GRADIENTS:
        np.testing.assert_array_equal(pairs[name], single[name].reshape(2, 2, 3).max(axis=1))


def test_what_is_left_after_many_layers_does_not_vanish(training, tmp_path):
    """The squares of these gradients are zero in single precision."""
    state = training(norm="lip")
    state.network.dropout.register_full_backward_hook(lambda module, given, arrived: (1e-30 * given[0],))
    arrays = recorded(state, tmp_path / "g", 1)
    usual = recorded(training(norm="lip"), tmp_path / "usual", 1)
    np.testing.assert_allclose(arrays["weight_norm"] / 1e-30, usual["weight_norm"], rtol=1e-3)


def test_without_an_epoch_there_is_nothing_to_save(training, tmp_path):
    GradientRecorder(training()).save(tmp_path / "g")
    assert not (tmp_path / "g").exists()


def test_the_device_is_not_waited_for(training, monkeypatch):
    state = training(kernel="dgl")
    recorder = GradientRecorder(state)
    train(state, recorder, 1)
    readings = []
    for name in ("item", "tolist", "__bool__", "__float__", "__int__", "numpy", "cpu"):
        original = getattr(torch.Tensor, name)

        def reading(tensor, *rest, original=original, name=name):
            readings.append(name)
            return original(tensor, *rest)

        monkeypatch.setattr(torch.Tensor, name, reading)
    train(state, recorder, 1)
    # Those of the step itself.
    assert readings == ["tolist", "tolist"]


def test_every_kind_of_layer_has_matrices_to_look_at():
    for model in layers_for("nodes"):
        closed = {"activation": "none"} if MODELS[model].closed else {}
        network = bare(5, 3, model=model, layers=2, **closed)
        assert all(any(p.dim() == 2 for p in block.parameters()) for block in network.blocks)
