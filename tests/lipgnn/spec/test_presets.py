import pytest

from lipgnn.catalog import MODELS, layers_for
from lipgnn.errors import UsageError
from lipgnn.spec.presets import PRESETS, preset_values
from lipgnn.spec.run import RunSpec


def test_deep_bounds_weights_by_depth_where_a_layer_has_linear_maps():
    found = [preset_values("deep", "gat", layers)["weight_norm"] for layers in (2, 99, 100, 1000)]
    assert found == ["fix:4/L", "fix:4/L", "fix:1/L", "fix:1/L"]
    assert preset_values("deep", "ggnn", 30)["weight_norm"] == "none"


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("model", layers_for("nodes"))
@pytest.mark.parametrize("layers", [1, 2, 30, 1000])
def test_a_preset_is_a_run_for_every_model_and_depth(preset, model, layers):
    RunSpec(**{**MODELS[model].defaults, "model": model, "layers": layers, **preset_values(preset, model, layers)})


def test_sums_has_a_residual_sum_and_every_value_of_deep_that_depth_does_not_change():
    sums, deep = (preset_values(preset, "gat", 30) for preset in ("sums", "deep"))
    assert sums["residual"] == "scaled" and sums.items() - deep.items() == {("residual", "scaled")}


def test_an_unknown_preset_is_refused_with_the_nearest():
    with pytest.raises(UsageError, match="Unknown preset 'dep'"):
        preset_values("dep", "gat", 30)
