import numpy as np
import pytest
import torch

from lipgnn.compress.inputs import Coordinates, coordinates_of, moments_of

CPU = torch.device("cpu")
DOUBLE = torch.float64
BARE = {"encoder": "none", "encoder_activation": "none", "residual": "linear"}


@pytest.mark.parametrize("options", [{"norm": "lip"}, {"residual": "identity", "stack": "reversible"}, BARE], ids=str)
def test_moments_are_those_of_what_every_layer_is_given(untrained, data, options):
    saved = untrained(**options)
    given = {}
    hooks = [
        module.register_forward_pre_hook(lambda _, inputs, name=name: given.update({name: inputs[1]}))
        for name, module in saved.network.named_modules()
        if name.endswith("conv")
    ]
    found = moments_of(saved, data, CPU)
    for hook in hooks:
        hook.remove()
    assert given.keys() == found.keys() and len(found) == 2 * (1 + saved.network.reversible)
    for name, x in given.items():
        rows = np.concatenate([x.detach().numpy(), np.ones((len(x), 1))], axis=1)
        assert np.allclose(found[name], rows.T @ rows / len(rows), atol=1e-12)
    assert not any(module._forward_hooks for module in saved.network.modules())


def test_coordinates_have_the_identity_for_moments():
    x = torch.randn(50, 6, dtype=DOUBLE, generator=torch.Generator().manual_seed(0)) @ torch.diag(
        torch.tensor([1e3, 1.0, 1.0, 1e-3, 0.0, 0.0], dtype=DOUBLE)
    )
    found = Coordinates.of(x.mT @ x / len(x))
    z = x @ found.back
    assert found.root.shape == (6, 4)
    assert torch.allclose(z.mT @ z / len(z), torch.eye(4, dtype=DOUBLE), atol=1e-6)
    assert torch.allclose(z @ found.root.mT, x, atol=1e-6)


def test_features_of_nothing_have_one_direction_of_nothing():
    found = Coordinates.of(torch.zeros(3, 3, dtype=DOUBLE))
    assert found.root.shape == (3, 1) and not found.root.any() and not found.back.any()


def test_keys_are_measured_from_their_mean_where_the_softmax_does_not_see_it(untrained, data):
    for norm in ("none", "lip"):
        saved = untrained(norm=norm)
        moments = moments_of(saved, data, CPU)["blocks.0.conv"]
        query, key = coordinates_of(saved.network.blocks[0].conv, moments)
        plain, mean = moments[:-1, :-1], moments[:-1, -1]
        expected = plain - torch.outer(mean, mean) if norm == "none" else moments
        assert torch.allclose(key.root @ key.root.mT, expected, atol=1e-9)
        assert torch.allclose(query.root @ query.root.mT, moments, atol=1e-9)
