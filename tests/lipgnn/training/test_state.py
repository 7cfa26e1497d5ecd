import dataclasses
import math

import pytest
import torch
from toys import TOYS, options_of

from lipgnn.training.checkpoint import CheckpointFile
from lipgnn.training.divergence import Diverged
from lipgnn.training.saving import restore, save
from lipgnn.training.state import Training

CPU = torch.device("cpu")


@pytest.fixture
def training(small_spec, load_for):
    def make(**changes):
        spec = small_spec.with_values(**changes)
        return Training(spec, load_for(spec), CPU)

    return make


def weights_of(training):
    return {name: value.clone() for name, value in training.network.state_dict().items()}


def same(a, b):
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def finish(training):
    records = []
    while not training.finished:
        records.append(training.step())
    return records


def without_time(record):
    return dataclasses.replace(record, seconds=0)


def test_a_step_is_adam_on_the_cross_entropy_of_the_training_nodes(training):
    """Against a loop written out here, without dropout."""
    ours = training(dropout=0, attn_dropout=0, schedule="none", norm="lip", clip=0)
    twin = training(dropout=0, attn_dropout=0, schedule="none", norm="lip", clip=0)
    network, spec = twin.network, twin.spec
    optimizer = torch.optim.Adam(network.parameters(), lr=spec.lr, weight_decay=spec.weight_decay)
    for _ in range(3):
        optimizer.zero_grad()
        logits = network(twin.batches.graph, twin.batches.features)[twin.parts["train"]]
        probabilities = logits.log_softmax(dim=1)
        labels = twin.labels[twin.parts["train"]]
        loss = -probabilities[torch.arange(len(labels)), labels].mean()
        loss.backward()
        norm = math.sqrt(sum(p.grad.double().square().sum().item() for p in network.parameters()))
        optimizer.step()
        record = ours.step()
        assert record.grad_norm == pytest.approx(norm, rel=1e-5)
    for name, value in network.state_dict().items():
        torch.testing.assert_close(ours.network.state_dict()[name], value, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("options", [{}, {"recompute_every": "1"}, {"norm": "lip+pair"}, {"stack": "reversible"}])
def test_without_dropout_an_evaluation_is_the_forward_of_the_next_epoch(training, options):
    """One forward an epoch and one more, and the same run to the last bit."""
    spec = {"dropout": 0, "attn_dropout": 0, "norm": "lip", "epochs": 5, **options}
    shared, separate = training(**spec), training(**spec)
    separate._shares_forward = False
    passes = {shared: 0, separate: 0}
    for state in passes:
        state.network.decoder.register_forward_hook(lambda *_, state=state: passes.update({state: passes[state] + 1}))
    first, second = finish(shared), finish(separate)
    assert list(passes.values()) == [6, 10]
    assert [without_time(record) for record in first] == [without_time(record) for record in second]
    assert same(weights_of(shared), weights_of(separate))


@pytest.mark.parametrize("options", [{"dropout": 0.1}, {"attn_dropout": 0.1}, {"norm": "lip+batch"}])
def test_what_differs_in_training_is_evaluated_on_its_own(training, options):
    assert not training(**{"dropout": 0, "attn_dropout": 0, "norm": "lip", **options})._shares_forward


@pytest.mark.usefixtures("toys")
@pytest.mark.parametrize("toy", TOYS)
def test_what_does_not_say_that_it_is_the_same_in_training_is_evaluated_on_its_own(training, toy):
    for speech, shares in (("silent", False), ("speaking", True)):
        state = training(dropout=0, attn_dropout=0, **options_of(toy, speech))
        assert state._shares_forward == shares
        assert state.step().grad_norm > 0


def test_the_device_is_waited_for_twice_an_epoch(training, monkeypatch):
    """Every reading of a number is a wait on a GPU; fused kernels on the CPU read the seeds of their dropout."""
    state = training(kernel="dgl")
    state.step()
    readings = []
    for name in ("item", "tolist", "__bool__", "__float__", "__int__"):
        original = getattr(torch.Tensor, name)

        def reading(tensor, *rest, original=original, name=name):
            readings.append(name)
            return original(tensor, *rest)

        monkeypatch.setattr(torch.Tensor, name, reading)
    state.step()
    assert readings == ["tolist", "tolist"]


def test_metrics_are_those_of_the_updated_weights_without_dropout(training):
    state = training()
    record = state.step()
    state.network.eval()
    with torch.no_grad():
        predicted = state.network(state.batches.graph, state.batches.features).argmax(dim=1)
    for part in ("train", "val", "test"):
        nodes = state.dataset.split.parts[part].nonzero()[0]
        hits = sum(int(predicted[node] == state.labels[node]) for node in nodes.tolist())
        assert getattr(record, f"{part}_score") == pytest.approx(hits / len(nodes))


def test_clipping_bounds_the_step_but_not_the_report(training):
    free = training(clip=0).step()
    clipped = training(clip=1e-3)
    assert free.grad_norm == clipped.step().grad_norm
    gradient = torch.cat([p.grad.flatten() for p in clipped.network.parameters()])
    assert gradient.norm().item() == pytest.approx(1e-3, rel=1e-4)


@pytest.mark.parametrize("select", ["val_score", "val_loss"])
def test_the_best_epoch_is_the_first_with_the_best_validation(training, select):
    state = training(select=select)
    records = finish(state)
    key = {
        "val_score": lambda r: (-r.val_score, r.val_loss, r.epoch),
        "val_loss": lambda r: (r.val_loss, -r.val_score, r.epoch),
    }
    assert state.best.epoch == min(records, key=key[select]).epoch
    assert records[-1].best_epoch == state.best.epoch


def test_patience_stops_after_that_many_epochs_without_improvement(training):
    state = training(patience=2, epochs=200)
    finish(state)
    assert state.epoch == state.best.epoch + 2


def test_test_labels_play_no_part_in_training(training):
    """Poisoned test labels change nothing but the test accuracy."""
    honest = training()
    records = finish(honest)
    poisoned = training()
    nodes = poisoned.parts["test"]
    poisoned.labels[nodes] = (poisoned.labels[nodes] + 1) % 4
    for a, b in zip(records, finish(poisoned), strict=True):
        assert dataclasses.replace(without_time(a), test_score=0) == dataclasses.replace(without_time(b), test_score=0)
    assert same(honest.best_weights, poisoned.best_weights)
    assert honest.best.test_score != poisoned.best.test_score


def test_one_seed_is_one_run_and_another_seed_another(training):
    first, again, other = (training(seed=seed) for seed in (0, 0, 1))
    assert same(weights_of(first), weights_of(again))
    assert not same(weights_of(first), weights_of(other))
    runs = []
    for seed in (0, 0, 1):
        state = training(seed=seed)
        runs.append([without_time(record) for record in finish(state)])
    assert runs[0] == runs[1] != runs[2]


def test_a_run_stops_when_its_rate_has_fallen_so_far(training):
    """lr (1 + cos(π t / 20)) / 2 is first at most lr/2 after ten epochs."""
    state = training(schedule="cosine", epochs=20, patience=0, lr=0.01, stop_lr=0.005 + 1e-9)
    epochs = 0
    while not state.finished:
        state.step()
        epochs += 1
    assert epochs == 10


@pytest.mark.parametrize("decay", ["same", "0.02"])
@pytest.mark.parametrize("schedule", ["none", "plateau", "cosine"])
def test_a_restored_state_goes_on_bit_for_bit(training, tmp_path, schedule, decay):
    options = {"schedule": schedule, "layer_weight_decay": decay}
    whole = training(**options)
    expected = [without_time(r) for r in finish(whole)]
    for cut in (1, 5, 13):
        first = training(**options)
        for _ in range(cut):
            first.step()
        save(first, CheckpointFile(tmp_path))
        second = training(**options)
        restore(second, *CheckpointFile(tmp_path).read(second.spec))
        assert [without_time(r) for r in finish(second)] == expected[cut:]
        assert same(weights_of(second), weights_of(whole))
        assert same(second.best_weights, whole.best_weights)


@pytest.mark.parametrize(
    "options",
    [
        {"stack": "reversible"},
        {"recompute_every": "1"},
        {"weight_norm": "fix:4/L"},
        {"weight_norm": "cap:0.5", "dropout": 0.0},
        {"weight_norm": "fix:1", "recompute_every": "1", "residual": "initial"},
        {"weight_norm": "fix:1", "stack": "reversible"},
        {"residual": "gated", "mlp": "2x", "norm": "lip+layer", "norm_place": "pre"},
        {"encoder": "none", "residual": "linear", "dropout_from": "layers", "layer_dropout": 0.2},
        {"encoder": "none", "residual": "linear", "recompute_every": "1", "layer_dropout": 0.2, "init": "pyg"},
        {"encoder": "none", "residual": "linear", "dropout": 0.0, "attn_dropout": 0.0, "norm": "lip"},
    ],
)
def test_every_kind_of_network_goes_on_bit_for_bit(training, tmp_path, options):
    whole = training(**options)
    expected = [without_time(r) for r in finish(whole)]
    first = training(**options)
    for _ in range(5):
        first.step()
    save(first, CheckpointFile(tmp_path))
    second = training(**options)
    restore(second, *CheckpointFile(tmp_path).read(second.spec))
    assert [without_time(r) for r in finish(second)] == expected[5:]
    assert same(weights_of(second), weights_of(whole))


@pytest.mark.parametrize("weight_norm", ["fix:0.5", "cap:0.5"])
def test_bounded_weights_stay_bounded_while_they_learn(training, weight_norm):
    run = training(weight_norm=weight_norm, lr=0.05)
    finish(run)
    heads = run.spec.heads
    for block in run.network.blocks:
        lengths = torch.linalg.matrix_norm(block.conv.fc.weight.unflatten(0, (heads, -1)), 2)
        torch.testing.assert_close(lengths, torch.full_like(lengths, 0.5), rtol=0.05, atol=0)


def test_checkpoints_over_blocks_change_nothing_in_a_run(training):
    kept = training(layers=5)
    expected = [without_time(record) for record in finish(kept)]
    for begin, every in ((0, 2), (3, 1)):
        recomputed = training(layers=5)
        for _ in range(begin):
            recomputed.step()
        recomputed.recompute_blocks(every)
        assert recomputed.spec.recompute_every == str(every)
        assert [without_time(record) for record in finish(recomputed)] == expected[begin:]
        assert same(weights_of(kept), weights_of(recomputed))


def test_cosine_goes_from_the_learning_rate_to_zero(training):
    rates = [record.lr for record in finish(training(schedule="cosine", epochs=4))]
    assert rates == pytest.approx([0.01 * (1 + math.cos(math.pi * k / 4)) / 2 for k in range(4)])


BATCHED = [
    {"dataset": "planted", "batch_size": 30, "fanout": 3},
    {"dataset": "planted", "batch_size": 30, "fanout": 3, "encoder": "none", "residual": "linear"},
    {"dataset": "trees:2:10", "batch_size": 16, "features": "raw", "select": "train_score", "schedule": "halve"},
]


@pytest.mark.parametrize("options", BATCHED, ids=["nodes", "no encoder", "graphs"])
@pytest.mark.parametrize("cut", [2, 3])
def test_training_in_batches_goes_on_bit_for_bit_also_between_evaluations(training, tmp_path, options, cut):
    """With dropout, BatchNorm and evaluations every other epoch."""
    options = {**options, "eval_every": 2, "epochs": 7, "dropout": 0.1}
    whole = training(**options)
    expected = finish(whole)
    assert [record.epoch for record in expected if record] == [2, 4, 6, 7]
    first = training(**options)
    for _ in range(cut):
        first.step()
    save(first, CheckpointFile(tmp_path))
    second = training(**options)
    restore(second, *CheckpointFile(tmp_path).read(second.spec))
    assert [record and without_time(record) for record in finish(second)] == [
        record and without_time(record) for record in expected[cut:]
    ]
    assert same(weights_of(second), weights_of(whole))
    assert second.max_grad_norm == whole.max_grad_norm


@pytest.mark.parametrize("options", BATCHED, ids=["nodes", "no encoder", "graphs"])
def test_an_epoch_in_batches_is_a_step_of_adam_on_each(training, options):
    """Against a loop written out here."""
    options = {**options, "dropout": 0, "attn_dropout": 0, "schedule": "none", "norm": "lip"}
    ours, twin = training(**options), training(**options)
    network, spec = twin.network, twin.spec
    optimizer = torch.optim.Adam(network.parameters(), lr=spec.lr, weight_decay=spec.weight_decay)
    norms = []
    for batch in twin.batches.epoch(1):
        optimizer.zero_grad()
        logits = batch.of_items(network(batch.graph, batch.features))
        torch.nn.functional.cross_entropy(logits, twin.labels[batch.items]).backward()
        norms.append(math.sqrt(sum(p.grad.double().square().sum().item() for p in network.parameters())))
        optimizer.step()
    assert len(norms) > 1
    assert ours.step().grad_norm == pytest.approx(max(norms), rel=1e-5)
    for name, value in network.state_dict().items():
        torch.testing.assert_close(ours.network.state_dict()[name], value, rtol=1e-4, atol=1e-6)


def test_epochs_without_an_evaluation_change_nothing_but_the_log(training):
    """On a whole graph without a schedule that looks at evaluations."""
    options = {"schedule": "cosine", "dropout": 0, "attn_dropout": 0, "norm": "lip", "epochs": 7}
    every, third = training(**options), training(**options, eval_every=3)
    expected, found = finish(every), finish(third)
    assert [record is not None for record in found] == [False, False, True, False, False, True, True]
    for record, own in zip(expected, found, strict=True):
        if own:
            strip = {"seconds": 0, "grad_norm": 0, "best_epoch": 0}
            assert dataclasses.replace(own, **strip) == dataclasses.replace(record, **strip)
    assert found[2].grad_norm == max(record.grad_norm for record in expected[:3])
    assert same(weights_of(every), weights_of(third))


def test_nothing_is_left_to_learn_at_training_accuracy_one(training):
    state = training(select="train_score", epochs=500, schedule="none", norm="lip", hidden=8, dropout=0, attn_dropout=0)
    records = finish(state)
    assert state.best.train_score == 1
    assert state.epoch < 500
    assert all(record.train_score < 1 for record in records[:-1])


def test_by_training_accuracy_a_gain_is_more_than_a_ten_thousandth(training):
    state = training(select="train_score", patience=3, epochs=50)
    record = state.step()
    for epoch, accuracy in ((2, 0.50005), (3, 0.50009), (4, 0.5002), (5, 0.5002)):
        state.best = dataclasses.replace(record, train_score=0.5) if epoch == 2 else state.best
        chosen = state._select(dataclasses.replace(record, epoch=epoch, train_score=accuracy, best_epoch=epoch))
        assert chosen.best_epoch == {2: 1, 3: 1, 4: 4, 5: 4}[epoch]


def test_the_last_gain_counts_however_small_and_ends_the_training(training):
    state = training(select="train_score", patience=0, epochs=50)
    record = state.step()
    state.best = dataclasses.replace(record, train_score=0.99995)
    assert not state.finished
    chosen = state._select(dataclasses.replace(record, epoch=2, train_score=1.0, best_epoch=2))
    assert chosen.best_epoch == 2 and state.finished
    again = state._select(dataclasses.replace(record, epoch=3, train_score=1.0, best_epoch=3))
    assert again.best_epoch == 2


@pytest.mark.parametrize("options", BATCHED, ids=["nodes", "no encoder", "graphs"])
def test_a_bad_output_is_found_in_batches_too(training, options):
    state = training(**options)
    with torch.no_grad():
        state.network.blocks[1].conv.bias[0] = float("inf")
    with pytest.raises(Diverged, match="output of the layer 2"):
        state.step()
    assert state.epoch == 0


def test_a_loss_that_is_not_finite_stops_before_the_step(training):
    state = training()
    state.step()
    with torch.no_grad():
        state.network.blocks[1].conv.bias[0] = float("inf")
    with pytest.raises(Diverged, match="output of the layer 2"):
        state.step()
    assert state.epoch == 1


def test_a_gradient_that_is_not_finite_stops_before_the_step(training):
    state = training()
    state.step()
    before = weights_of(state)
    state.network.blocks[0].conv.attn_l.register_hook(lambda grad: grad * float("nan"))
    with pytest.raises(Diverged, match="gradient of the layer 1"):
        state.step()
    kept = {name: value for name, value in weights_of(state).items() if "norm" not in name}
    assert same(kept, {name: before[name] for name in kept})


def test_a_step_into_the_void_is_taken_back(training):
    state = training(lr=1e3, layers=40, norm="none", residual="identity", activation="none", schedule="none")
    with pytest.raises(Diverged):
        for _ in range(100):
            before = weights_of(state)
            state.step()
    assert all(value.isfinite().all() for value in weights_of(state).values())
    assert same(before, weights_of(state))


def test_nothing_is_created_on_a_default_device(training, tmp_path):
    """With the default device set to meta, anything created without a device would fail or poison the metrics."""
    expected = training().step()
    shifted = training()
    torch.set_default_device("meta")
    try:
        record = shifted.step()
        save(shifted, CheckpointFile(tmp_path))
        restore(shifted, *CheckpointFile(tmp_path).read(shifted.spec))
        shifted.step()
    finally:
        torch.set_default_device(None)
    assert without_time(record) == without_time(expected)


SPARSE = {"compress": "topk:0.1", "schedule": "inverse", "lr": 0.05}


@pytest.mark.parametrize("optimizer", ["adam", "sgd", "memsgd"])
@pytest.mark.parametrize("batch_size", [0, 30])
def test_a_restored_state_has_its_memory_and_mean(training, tmp_path, optimizer, batch_size):
    options = {**SPARSE, "optimizer": optimizer, "batch_size": batch_size, "epochs": 6, "norm": "lip"}
    whole = training(**options)
    lines = list(map(without_time, finish(whole)))
    first = training(**options)
    begun = [without_time(first.step()) for _ in range(3)]
    save(first, CheckpointFile(tmp_path))
    second = training(**options)
    restore(second, *CheckpointFile(tmp_path).read(second.spec))
    assert begun + list(map(without_time, finish(second))) == lines
    assert same(second.best_weights, whole.best_weights)
    assert second.learner.traffic() == whole.learner.traffic()


def test_what_is_evaluated_selected_and_saved_is_the_weighted_mean(training):
    """With one step an epoch, on the whole graph: w_t = (t + a)² of the weights after every step."""
    ours = training(**SPARSE, optimizer="memsgd", shift=4.0, select="last", norm="lip", dropout=0, attn_dropout=0)
    seen = []
    for _ in range(5):
        line = ours.step()
        seen.append(weights_of(ours))
    factors = [(t + 4) ** 2 for t in range(5)]
    mean = {name: sum(f * step[name] for f, step in zip(factors, seen, strict=True)) / sum(factors) for name in seen[0]}
    for name, weight in ours.best_weights.items():
        torch.testing.assert_close(weight, mean[name], rtol=1e-5, atol=1e-7)
    twin = training(**SPARSE, optimizer="memsgd", norm="lip", dropout=0, attn_dropout=0)
    twin.network.load_state_dict(mean)
    logits = twin.network.eval()(twin.batches.graph, twin.batches.features)[twin.parts["train"]]
    loss = torch.nn.functional.cross_entropy(logits, twin.labels[twin.parts["train"]])
    assert line.train_loss == pytest.approx(loss.item(), rel=1e-5)


def test_the_objective_is_the_loss_of_what_is_selected_with_its_penalty(training):
    ours = training(weight_decay=0.1, layer_weight_decay="same", epochs=2)
    finish(ours)
    squares = sum(ours.best_weights[name].square().sum().item() for name, _ in ours.network.named_parameters())
    assert ours.objective == pytest.approx(ours.best.train_loss + 0.1 / 2 * squares, rel=1e-5)


def test_a_network_of_no_layers_is_trained(training):
    for batch_size in (0, 10):
        ours = training(layers=0, batch_size=batch_size, norm="none", epochs=3, lr=0.1, features="raw")
        lines = finish(ours)
        assert lines[-1].train_loss < lines[0].train_loss


def test_the_last_good_state_is_the_newest_with_finite_outputs(training):
    state = training(epochs=3)
    assert not state.stepped and same(state.last_good(), weights_of(state))
    state.step()
    assert state.stepped and same(state.last_good(), weights_of(state))
    before = {name: value.clone() for name, value in state._before.items()}
    with torch.no_grad():
        state.network.decoder.weight.fill_(torch.inf)
    assert same(state.last_good(), before)
