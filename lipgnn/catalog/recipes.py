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
"""Residual sums of biased layers with dropout before encoder and decoder alone: for layers and data that the built-in
defaults, which are GCNII's recipe, do not fit."""

LINEAR_RECIPE: dict[str, Any] = {
    "hidden": 64,
    "heads": 1,
    "activation": "relu",
    "encoder_activation": "none",
    # Theirs have none in the layers; BatchNorm takes it away again.
    "bias": "layers",
    "dropout": 0.2,
    "layer_dropout": 0.2,
    "dropout_from": "layers",
    # Theirs is BatchNorm alone; with LipschitzNorm beside it validation is as good at 2 to 8 layers, and better deeper.
    "norm": "lip+batch",
    "residual": "linear",
    "init": "torch-ends",
    "lr": 0.01,
    "weight_decay": 0.0,
    "layer_weight_decay": "same",
    "epochs": 2000,
    "patience": 200,
    "select": "val_score",
}
"""A learned linear residual and BatchNorm, for graphs whose neighbours are unlike each other: what Luo et al., "Classic
GNNs are Strong Baselines", NeurIPS 2024, have for Minesweeper; the encoder, its start, the patience and LipschitzNorm
are ours."""
