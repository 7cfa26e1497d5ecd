"""Networks that extrapolate paths: what reaches their outputs, and what does not."""

import dataclasses

import numpy as np
import pytest
import torch

from lipgnn.datasets.windows import windows_of
from lipgnn.errors import UsageError
from lipgnn.network.paths import DiffusionNetwork, path_network
from lipgnn.spec.sources import resolve
from lipgnn.tasks import load
from lipgnn.tasks.batches import logits_of
from lipgnn.tasks.batches.windows import WindowBatches

CPU = torch.device("cpu")


def made_of(**options):
    spec = resolve({"dataset": "planar:200", "layers": 2, "dtype": "float64", **options}, {}).spec
    dataset = load(spec.dataset, split=spec.split, features=spec.features)
    torch.manual_seed(0)
    return spec, dataset, path_network(spec, *dataset.shape).double()


@pytest.mark.parametrize("model", ["diffusion", "gat"])
def test_relabelled_nodes_have_the_same_predictions(model):
    """G8: all that is measured but ties of the most probable nodes, which the lower number wins."""
    spec, dataset, network = made_of(model=model, hidden=2, heads=2)
    new = np.random.RandomState(0).permutation(dataset.num_nodes)
    moved = dataclasses.replace(
        dataset,
        node_features=dataset.node_features[np.argsort(new)],
        sources=new[dataset.sources],
        targets=new[dataset.targets],
        observed_nodes=new[dataset.observed_nodes],
    )
    before, after = (logits_of(network, WindowBatches(spec, data, CPU)) for data in (dataset, moved))
    torch.testing.assert_close(before, after)


@pytest.mark.parametrize("directions", ["forward", "both"])
def test_gradients_reach_the_transitions(directions):
    """G11, through the whole network."""
    spec, dataset, network = made_of(model="diffusion", transitions="learned", directions=directions)
    batch = next(WindowBatches(spec, dataset, CPU).epoch(1))
    network(batch.graph, batch.features).sum().backward()
    for name, weight in network.blocks.named_parameters():
        # Nodes have no features here, and the last bias moves all logits alike.
        empty = not weight.numel() or name.endswith("out.bias")
        assert empty or weight.grad.abs().max() > 0, name


def test_learned_transitions_are_diffused_anew_where_a_weight_has_changed():
    spec, dataset, network = made_of(model="diffusion", transitions="learned")
    batches = WindowBatches(spec, dataset, CPU)
    before = logits_of(network, batches)
    assert torch.equal(logits_of(network, batches), before)
    for weight in network.blocks.parameters():
        # As fused optimizers do it, which count no change.
        weight.data.mul_(3)
    after = logits_of(network, batches)
    fresh = path_network(spec, *dataset.shape).double()
    fresh.load_state_dict(network.state_dict())
    assert not torch.allclose(after, before)
    assert torch.equal(after, logits_of(fresh, batches))


def test_the_head_of_uniform_diffusion_is_all_that_is_learned():
    _, _, network = made_of(model="diffusion")
    assert isinstance(network, DiffusionNetwork)
    assert {name.split(".")[0] for name, _ in network.named_parameters()} == {"decoder"}


def test_how_far_it_looks_is_refused():
    spec, dataset, network = made_of(model="gat")
    batch = WindowBatches(spec, dataset, CPU).whole()
    with pytest.raises(UsageError, match="How far"):
        network.from_encoder(batch.graph, batch.features)


def test_windows_are_those_of_the_batches():
    spec, dataset, _ = made_of(model="diffusion")
    assert len(windows_of(dataset, spec.observed, spec.predict)) == len(WindowBatches(spec, dataset, CPU).labels)
