import itertools
import math

import pytest
import torch

from lipgnn.compress import Compressor, compress_model
from lipgnn.compress.compression import score_weights
from lipgnn.compress.effect import logit_changes
from lipgnn.compress.inputs import moments_of
from lipgnn.errors import UsageError
from lipgnn.norms import NearIdentity

CPU = torch.device("cpu")

STACKS = [
    {},
    {"norm": "lip"},
    {"norm": "lip", "bias": "none"},
    {"residual": "identity", "norm": "lip+layer"},
    {"residual": "identity", "stack": "reversible", "norm": "lip"},
    {"skip": "none", "residual": "linear"},
    {"residual": "linear", "encoder": "none", "encoder_activation": "none"},
]
# Of 32 features: more than the network is wide, and less.
WITHOUT_ENCODER = [
    {"residual": "linear", "encoder": "none", "encoder_activation": "none", "norm": norm, "hidden": hidden}
    for norm in ("none", "lip")
    for hidden in (4, 16)
]


@pytest.mark.parametrize("options", STACKS, ids=str)
def test_the_full_width_is_exact(untrained, outputs, options):
    """K1 for whole networks: residual initial, the default, parametrizes the map of values."""
    saved = untrained(**options)
    found = compress_model(saved, 12)
    assert found.model.spec.head_sharing == "collab" and found.shared_dim == 12
    assert (outputs(found.model) - outputs(saved)).abs().max() < 1e-12
    assert [layer.error for layer in found.layers] == [0.0] * len(found.layers)


def test_the_graph_s_query_norm_is_exact_as_well(untrained, outputs):
    saved = untrained(norm="lip")
    found = compress_model(saved, 12).model
    for network in (saved.network, found.network):
        for block in network.blocks:
            block.conv.norm.query_norm = "graph"
    assert (outputs(found) - outputs(saved)).abs().max() < 1e-12


def test_no_width_is_the_full_one_as_in_a_run(untrained, outputs):
    saved = untrained()
    found = compress_model(saved, 0)
    assert (found.shared_dim, found.model.spec.shared_dim) == (12, 0)
    assert (outputs(found.model) - outputs(saved)).abs().max() < 1e-12


@pytest.mark.parametrize("options", WITHOUT_ENCODER, ids=str)
def test_the_features_themselves_are_compressed_like_others(untrained, data, options):
    saved = untrained(**options)
    for moments in (None, moments_of(saved, data, CPU)):
        compressor = Compressor(saved, moments=moments)
        errors = [max(layer.error for layer in compressor.at(width).layers) for width in (4, 8, 0)]
        assert errors[0] > errors[1] > errors[2] == 0
        assert compressor.at(8).model.network.blocks[0].conv.query.weight.shape == (8, 32)
        assert max(logit_changes(saved, compressor.at(0).model, data, CPU)) < 1e-9


@pytest.mark.parametrize(
    "options", [{}, {"norm": "lip"}, {"norm": "lip", "residual": "scaled"}, *WITHOUT_ENCODER[::2]], ids=str
)
def test_a_planted_rank_is_kept_with_biases_and_lengths(untrained, plant, outputs, data, options):
    """K4 for whole networks: at the planted width every logit is kept, with LipschitzNorm too."""
    saved = plant(untrained(**options), 4)
    found = compress_model(saved, 4)
    assert max(layer.error for layer in found.layers) < 1e-5
    assert max(logit_changes(saved, found.model, data, CPU)) < 1e-4
    assert (outputs(found.model) - outputs(saved)).abs().max() < 1e-4
    assert max(layer.suggested for layer in found.layers) <= 4
    narrow = compress_model(saved, 2)
    assert max(layer.error for layer in narrow.layers) > 0.1
    assert max(logit_changes(saved, narrow.model, data, CPU)) > 1e-2


def test_the_scale_is_that_of_the_heads_whatever_the_width(untrained, plant, data):
    """K5: with the published scale, from the shared width, logits are others."""
    saved = plant(untrained(), 4)
    found = compress_model(saved, 4).model
    for block in found.network.blocks:
        assert block.conv.scale.item() == pytest.approx(1 / math.sqrt(4))
        block.conv.scale.fill_(1 / math.sqrt(4 / 3))  # √(D̃ / H)
    assert max(logit_changes(saved, found, data, CPU)) > 1e-2


def test_the_bias_of_keys_is_dropped_where_the_softmax_does_not_see_it(untrained):
    plain, lip = (compress_model(untrained(norm=norm), 6).model.network.blocks[0].conv for norm in ("none", "lip"))
    assert (plain.key.bias == 0).all() and (plain.query.bias != 0).any()
    assert (lip.key.bias != 0).any()


def test_errors_do_not_grow_with_the_width(untrained):
    compressor = Compressor(untrained())
    errors = [[layer.error for layer in compressor.at(width).layers] for width in (2, 4, 6, 8, 10, 12)]
    for narrow, wide in itertools.pairwise(errors):
        assert all(after <= before + 1e-9 for before, after in zip(narrow, wide, strict=True))


def test_all_else_is_kept_and_its_parametrizations_with_it(untrained):
    saved = untrained()
    found = compress_model(saved, 5).model
    before, after = saved.network.state_dict(), found.network.state_dict()
    scores = {name for name in after if name.split(".")[-2] in ("query", "key") or name.endswith((".mixing", ".scale"))}
    assert len(scores) == 2 * 6
    assert all(torch.equal(after[name], before[name]) for name in after if name not in scores)
    parametrized = found.network.blocks[0].conv.value.parametrizations.weight
    assert isinstance(parametrized[0], NearIdentity)
    assert (found.fingerprint, found.task, found.shape) == (saved.fingerprint, saved.task, saved.shape)
    assert not found.network.training


def test_weights_of_scores_are_counted_by_the_formula(untrained):
    """K3: 2 F·H·D become (2 F + H) D̃ in every layer, without biases."""
    saved = untrained(bias="none")
    counts = {width: _count(compress_model(saved, width).model) for width in (3, 6, 12)}
    assert _count(saved) == 2 * (2 * 12 * 12)
    assert counts == {width: 2 * (2 * 12 + 3) * width for width in (3, 6, 12)}


def _count(saved):
    return sum(weight.numel() for weight in score_weights(saved.network).values())


def test_layers_of_two_branches_are_named_by_both(untrained):
    layers = compress_model(untrained(stack="reversible", residual="identity"), 6).layers
    assert [layer.layer for layer in layers] == ["1f", "1g", "2f", "2g"]


def test_the_least_width_within_an_error(untrained, plant):
    planted = Compressor(plant(untrained(hidden=8, heads=2), 4))
    assert planted.full_width == 16
    assert planted.least(1e-4) == 4
    assert max(layer.error for layer in planted.at(3).layers) > 1e-4


def test_the_least_width_is_the_full_one_where_nothing_else_will_do(untrained):
    assert Compressor(untrained()).least(1e-9) == 12


def test_the_type_of_the_weights_is_kept(untrained):
    found = compress_model(untrained(dtype="float32"), 5).model
    assert {weight.dtype for weight in found.network.state_dict().values()} == {torch.float32}


def test_layers_of_nothing_stay_layers_of_nothing(untrained, outputs):
    saved = untrained(norm="lip")
    with torch.no_grad():
        for weight in score_weights(saved.network).values():
            weight.zero_()
    found = compress_model(saved, 3).model
    assert torch.allclose(outputs(found), outputs(saved), atol=1e-12)


@pytest.mark.parametrize(
    "options, words",
    [
        ({"model": "gat"}, "model 'gat' have none"),
        ({"model": "gcn"}, "model 'gcn' have none"),
        ({"head_sharing": "collab", "shared_dim": 6}, "share queries and keys already"),
        ({"head_sharing": "mqa"}, "share queries and keys already"),
        ({"weight_norm": "cap:1"}, "cannot keep these bounds"),
    ],
    ids=str,
)
def test_what_cannot_be_compressed_is_refused_in_a_sentence(untrained, options, words):
    with pytest.raises(UsageError, match=words) as error:
        Compressor(untrained(**options))
    assert error.value.hint


@pytest.mark.parametrize("options, width", [({}, 13), ({"stack": "reversible", "residual": "identity"}, 5)])
def test_widths_that_do_not_fit_are_refused(untrained, options, width):
    with pytest.raises(UsageError, match="shared_dim"):
        compress_model(untrained(**options), width)
