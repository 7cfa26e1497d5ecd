from dataclasses import replace

import pytest
import torch

from lipgnn.compress.curve import Curve, curve
from lipgnn.compress.effect import Effect, Standing
from lipgnn.errors import UsageError

CPU = torch.device("cpu")


@pytest.mark.parametrize("fit", ["weights", "data"])
def test_errors_fall_and_sizes_grow_along_the_curve(untrained, data, fit):
    found = curve(untrained(), data, CPU, widths=[9, 3, 6, 12], fit=fit)
    assert [one.shared_dim for one in found.compressions] == [3, 6, 9, 12]
    sizes = [effect.standing.parameters for effect in found.effects]
    assert sizes == sorted(sizes)
    for layer in range(2):
        errors = [effect.layers[layer].error for effect in found.effects]
        assert errors == sorted(errors, reverse=True) and errors[-1] == 0.0
    assert found.effects[-1].standing.scores == found.before.scores
    assert found.fit == fit


def test_fitted_to_data_logits_change_less(untrained, data):
    changes = {
        fit: max(curve(untrained(), data, CPU, widths=[6], fit=fit).effects[0].logit_changes)
        for fit in ("weights", "data")
    }
    assert changes["data"] < changes["weights"]


def test_without_widths_it_is_the_least_within_the_error(untrained, data):
    (effect,) = curve(untrained(), data, CPU, max_error=0.4).effects
    assert max(layer.error for layer in effect.layers) <= 0.4


def test_a_model_that_cannot_be_compressed_is_refused(untrained, data):
    with pytest.raises(UsageError, match="have none"):
        curve(untrained(model="gat"), data, CPU, widths=[3])


@pytest.mark.parametrize("scores, advised", [((0.5, 0.695, 0.7), 6), ((0.1, 0.2, 0.3), 9), ((None, None, None), 9)])
def test_the_advised_width_costs_at_most_a_point_of_validation(scores, advised):
    before = Standing(None, 100, 40, "accuracy", {"train": 1.0, "val": 0.7, "test": 0.6})
    effects = [
        Effect(replace(before, shared_dim=width, scores={"train": 1.0, "val": score, "test": 0.9}), [], [])
        for width, score in zip((3, 6, 9), scores, strict=True)
    ]
    assert Curve("weights", before, before, [], effects).advised == advised
