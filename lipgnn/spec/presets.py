"""Presets: values of several options at once, by kind of layer and depth; no torch here."""

from __future__ import annotations

from typing import Any

from lipgnn.catalog import MODELS, NO_NORM, SUMS_RECIPE, Entry, check_name, fitting_norm

PRESETS: dict[str, Entry] = {
    "sums": Entry("residual sums divided by √layers, with ELU, biases, and dropout before encoder and decoder alone"),
    "deep": Entry("residual sums with LipschitzNorm, and weights bounded by 4/L, or by 1/L from 100 layers on"),
}
# From so many layers on, `deep` takes the narrower bound.
VERY_DEEP = 100


def preset_values(preset: str, model: str, layers: int) -> dict[str, Any]:
    """The run options of a preset, for a kind of layer and a depth.

    Most studies were computed with `sums`. Those of `deep` were chosen by validation accuracy at 32 and 128 layers
    (study `preset`): one learning rate served both, the narrower bound the deeper network.

    Raises
    ------
    UsageError : no such preset.
    """
    check_name("preset", preset, PRESETS)
    layer = MODELS[model]
    if layer.closed:
        return layer.defaults
    if preset == "sums":
        return SUMS_RECIPE
    return {
        **SUMS_RECIPE,
        "residual": "identity",
        "norm": fitting_norm("lip", layer.attention),
        "weight_norm": ("fix:4/L" if layers < VERY_DEEP else "fix:1/L") if layer.linear_maps else NO_NORM,
    }
