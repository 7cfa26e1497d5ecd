"""Recipes: what goes together in training, as values of run options by name."""

from __future__ import annotations

from typing import Any

SUMS_RECIPE: dict[str, Any] = {
    "activation": "elu",
    "encoder_activation": "none",
    "bias": "layers",
    "layer_dropout": 0.0,
    "residual": "scaled",
    "lr": 0.005,
    "weight_decay": 5e-3,
    "layer_weight_decay": "same",
    "epochs": 200,
    "patience": 50,
    "select": "val_score",
}
"""Residual sums of biased layers with dropout at the two ends alone: for layers and data that the built-in defaults,
which are GCNII's recipe, do not fit."""
