"""A network without a part is the network that never had it, with the same weights."""

from __future__ import annotations

import pytest
import torch
from networks import bare

from lipgnn.catalog import find_task
from lipgnn.diagnose.ablate import PARTS, ablate, switched_off
from lipgnn.diagnose.data import WholeData
from lipgnn.errors import UsageError
from lipgnn.measures.features import rank_one_residual
from lipgnn.measures.walk import components
from lipgnn.tasks.batches import Batch


@pytest.fixture
def data(reference):
    everyone = torch.arange(7)
    parts = {"train": everyone[:5], "val": everyone[5:6], "test": everyone[6:]}
    batch = Batch(reference.small_graph(), reference.normal(1, 7, 4), everyone)
    return WholeData(find_task("nodes"), batch, everyone % 3, parts)


def network_of(**options):
    torch.manual_seed(0)
    return bare(4, 3, layers=3, hidden=3, heads=2, **options).double().eval()


WITHOUT = {"skip": {"residual": "none", "skip": "none"}, "mlp": {"mlp": "none"}, "norm": {"norm": "none"}}


@pytest.mark.parametrize(
    ("residual", "part"),
    [
        *((residual, part) for residual in ("identity", "scaled", "gated") for part in WITHOUT),
        ("initial", "mlp"),
        ("initial", "norm"),
    ],
)
def test_it_computes_what_a_network_without_the_part_does(data, residual, part):
    options = {"model": "gt", "norm": "lip+layer", "mlp": "2x", "residual": residual, "norm_place": "sum"}
    network, other = network_of(**options), network_of(**{**options, **WITHOUT[part]})
    state = network.state_dict()
    other.load_state_dict({name: state[name] for name in other.state_dict()})
    with torch.no_grad(), switched_off(network, [part]):
        found = network(data.graph, data.features)
    torch.testing.assert_close(found, other(data.graph, data.features).detach())


def test_without_the_first_features_only_the_layers_are_left(data):
    network, other = network_of(residual="initial", alpha=0.3), network_of(residual="initial", alpha=0.0)
    other.load_state_dict(network.state_dict())
    with torch.no_grad(), switched_off(network, ["skip"]):
        found = network(data.graph, data.features)
    torch.testing.assert_close(found, other(data.graph, data.features).detach())


def test_the_network_is_the_same_afterwards(data):
    network = network_of(model="gt", norm="lip+layer", mlp="2x", residual="identity")
    before, parts = network(data.graph, data.features), str(network)
    ablate(network, data, PARTS)
    assert str(network) == parts
    assert torch.equal(network(data.graph, data.features), before)
    assert not any(block._forward_hooks for block in network.blocks)


def test_every_choice_of_parts_is_a_variant_with_its_own_residuals(data):
    network = network_of(norm="layer", mlp="2x", residual="identity")
    variants = ablate(network, data, ("skip", "mlp"))
    assert [variant.off for variant in variants] == [(), ("skip",), ("mlp",), ("skip", "mlp")]
    labels = components(data.graph)
    x = network.encoder(data.features)
    expected = [rank_one_residual(x, labels).item()]
    for block in network.blocks:
        x = block(data.graph, x)
        expected.append(rank_one_residual(x, labels).item())
    assert variants[0].residuals == pytest.approx(expected)
    assert variants[0].accuracy == data.accuracy(network.decoder(x).detach())
    assert variants[1].residuals[0] == variants[0].residuals[0]
    assert variants[1].residuals[1:] != variants[0].residuals[1:]


def test_what_is_not_there_cannot_be_switched_off(data):
    for part in PARTS:
        with pytest.raises(UsageError, match=f"no {part}"):
            ablate(network_of(norm="none", residual="none"), data, [part])
    with pytest.raises(UsageError, match="Unknown part"):
        ablate(network_of(), data, ["heads"])
    reversible = bare(4, 3, layers=2, hidden=4, heads=2, stack="reversible", residual="identity").double()
    with pytest.raises(UsageError, match="reversible"):
        ablate(reversible, data, ["skip"])


@pytest.mark.usefixtures("toys")
def test_what_only_bears_the_name_of_a_skip_or_a_norm_stays_where_it_is(data):
    network = network_of(model="silent-layer", residual="identity", norm="layer")
    for block in network.blocks:
        block.conv.skip, block.conv.norm = "a word", torch.nn.Identity()
    with switched_off(network, ["skip", "norm"]):
        assert all(block.residual == "none" and block.norm is None for block in network.blocks)
        assert all(block.conv.skip == "a word" and block.conv.norm is not None for block in network.blocks)
