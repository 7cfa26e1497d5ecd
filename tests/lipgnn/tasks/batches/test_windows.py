"""Batches of windows against the same window by window."""

import numpy as np
import pytest
import torch
from five_files import write_five_files
from window_by_window import diffused, edge_logits, observed, outcome, with_loops

import lipgnn.tasks.batches.windows as windows_module
from lipgnn.catalog import PREDICTIONS
from lipgnn.datasets.windows import windows_of
from lipgnn.errors import UsageError
from lipgnn.spec.sources import resolve
from lipgnn.tasks import find_task, load
from lipgnn.tasks.batches import logits_of
from lipgnn.tasks.batches.windows import WindowBatches
from lipgnn.walks.outcomes import OUTCOMES

CPU = torch.device("cpu")
ROADS = {"dataset": "planar:200", "model": "diffusion", "layers": 3, "dtype": "float64"}


def made_of(**options):
    spec = resolve({**ROADS, **options}, {}).spec
    dataset = load(spec.dataset, split=spec.split, features=spec.features)
    torch.manual_seed(3)
    network = find_task("paths").network(spec, *dataset.shape)
    return spec, dataset, network, WindowBatches(spec, dataset, CPU)


def rows_by_hand(spec, dataset, network, numbers):
    windows = windows_of(dataset, spec.observed, spec.predict)
    graph = with_loops(dataset)
    rows = []
    for number in numbers:
        h = diffused(graph, observed(dataset, windows.observations[number]), spec.layers)
        with torch.no_grad():
            logits = edge_logits(network.decoder, dataset, h).numpy()
        rows.append(outcome(dataset, spec, windows, number, logits))
    return np.array(rows)


@pytest.mark.parametrize(
    "options",
    [
        {"walk": "nb", "loss": "nll-nb", "predict": "destination"},
        {"walk": "nb", "loss": "nll", "horizon": "shortest:1.1"},
        {"walk": "plain", "loss": "target", "predict": "start-to-target"},
        {"walk": "nb", "loss": "target", "horizon": "shortest:1.1"},
        *({"walk": "plain", "predict": predict, "observed": 3} for predict in PREDICTIONS),
    ],
    ids=str,
)
def test_outcomes_are_those_of_one_window_after_the_other(options):
    spec, dataset, network, batches = made_of(**options)
    rows = logits_of(network, batches)
    numbers = range(0, len(rows), max(len(rows) // 12, 1))
    expected = rows_by_hand(spec, dataset, network, numbers)
    for column, name in enumerate(OUTCOMES):
        np.testing.assert_allclose(rows[list(numbers), column], expected[:, column], atol=1e-9, err_msg=name)
    # Observations of planar roads are two edges apart.
    mixed = options.get("predict") in ("destination", "start-to-target") or "horizon" in options
    assert (len(set(rows[:, OUTCOMES.index("horizon")].tolist())) > 1) == mixed


@pytest.mark.parametrize("loss", ["nll", "nll-nb", "target"])
def test_training_has_the_losses_of_evaluation(loss):
    _, _, network, batches = made_of(loss=loss)
    rows = logits_of(network, batches)[:, 0]
    for batch in batches.epoch(1):
        torch.testing.assert_close(batch.of_items(network(batch.graph, batch.features))[:, 0], rows[batch.items])


def test_dead_ends_keep_walkers(tmp_path):
    folder = str(write_five_files(tmp_path / "mine"))
    for walk in ("plain", "nb"):
        spec, dataset, network, batches = made_of(dataset=folder, observed=2, walk=walk, predict="destination")
        rows = logits_of(network, batches)
        np.testing.assert_allclose(rows, rows_by_hand(spec, dataset, network, range(len(rows))), atol=1e-9)


def test_every_trajectory_that_is_trained_on_comes_once_an_epoch():
    spec, dataset, _, batches = made_of()
    trajectory = windows_of(dataset, spec.observed, spec.predict).trajectory
    train = np.flatnonzero(dataset.split.parts["train"])
    orders = []
    for number in (1, 1, 2):
        steps = [batch.items.numpy() for batch in batches.epoch(number)]
        assert all(len(set(trajectory[items])) <= spec.batch_size for items in steps)
        orders.append(np.concatenate(steps).tolist())
        assert sorted(orders[-1]) == np.flatnonzero(np.isin(trajectory, train)).tolist()
    assert orders[0] == orders[1] != orders[2]


def test_labels_are_the_weights_of_windows_and_parts_those_of_trajectories():
    spec, dataset, _, batches = made_of()
    trajectory = windows_of(dataset, spec.observed, spec.predict).trajectory
    for part, mask in dataset.split.parts.items():
        assert batches.parts[part].tolist() == [w for w, t in enumerate(trajectory) if mask[t]]
    for window, label in enumerate(batches.labels.tolist()):
        assert label == pytest.approx(1 / (trajectory == trajectory[window]).sum())
    losses = torch.rand(len(batches.labels), 1, dtype=torch.float64)
    by_trajectory = [losses[trajectory == t].mean() for t in set(trajectory.tolist())]
    loss = find_task("paths").loss(losses, batches.labels)
    torch.testing.assert_close(loss, torch.stack(by_trajectory).mean())


def test_trajectories_of_no_part_have_no_windows(tmp_path):
    """Of 10 trajectories all count; of 9, one is left over."""
    folder = write_five_files(tmp_path / "mine")
    _, dataset, _, _ = made_of(dataset=str(folder), observed=2)
    left = dataset.split.parts["test"].copy()
    dataset.split.parts["test"][left] = False
    spec = resolve({**ROADS, "dataset": str(folder), "observed": 2}, {}).spec
    assert len(WindowBatches(spec, dataset, CPU).labels) == 2 * (10 - left.sum())


def test_kept_and_smaller_batches_change_nothing(tmp_path, monkeypatch):
    folder = str(write_five_files(tmp_path / "mine", rounds=4))
    options = {"dataset": folder, "observed": 2, "model": "gat", "layers": 2, "hidden": 2, "heads": 2}
    _, _, network, batches = made_of(**options)
    rows = logits_of(network, batches)
    assert torch.equal(logits_of(network, batches), rows)
    assert all(a is b for a, b in zip(batches.everything(), batches.everything(), strict=True))
    monkeypatch.setattr(windows_module, "_KEPT", 0)
    monkeypatch.setattr(windows_module, "_MOVES_AT_ONCE", 20)
    _, _, _, small = made_of(**options)
    assert len(list(small.everything())) > len(list(batches.everything()))
    assert not any(a is b for a, b in zip(small.everything(), small.everything(), strict=True))
    torch.testing.assert_close(logits_of(network, small), rows)


def test_walks_that_are_too_large_are_refused_with_their_size(monkeypatch):
    monkeypatch.setattr(windows_module, "MOST_CONTINUATIONS", 50)
    with pytest.raises(UsageError, match=r"have \d+ continuations .* 'planar:200'") as caught:
        made_of(walk="nb")
    assert caught.value.hint == "Use --walk plain."
    made_of(walk="plain")
