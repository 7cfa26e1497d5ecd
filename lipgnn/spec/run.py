"""The run specification: what a run computes, checked once, hashed into its id.

Field names are the option names of the command line, the keys of a TOML file and the columns of results.csv.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from lipgnn.catalog import (
    ACTIVATIONS,
    FEATURE_FORMS,
    FEATURE_NORMS,
    INITS,
    KERNELS,
    MLPS,
    MODELS,
    NO_NORM,
    NORM_PLACES,
    RESIDUALS,
    SCORE_NORMS,
    SKIPS,
    STACKS,
    parse_weight_norm,
)
from lipgnn.errors import UsageError, unknown_name
from lipgnn.files import sha256
from lipgnn.spec.rules import check_batches, check_network, check_recomputation
from lipgnn.tasks.neighbors_match import is_trees

# Part of every run id: raise it when the same specification starts to mean another computation.
SCHEMA = 2

# Where and how a run is computed, not what: every kernel equals the reference up to rounding, recomputed activations
# are the same, and a store may move between machines. These are not part of a run's id.
HOW = ("device", "kernel", "recompute_every")

_NORM_NAMES = ", ".join([NO_NORM, *SCORE_NORMS, *FEATURE_NORMS])


def _option(default: Any, description: str, **limits: Any) -> Any:
    """A field with its help text and limits: choices, low, high (both included), below (excluded).

    Text with `or_number` may be given as a number.
    """
    return field(default=default, metadata={"help": description, **limits})


@dataclass(frozen=True, kw_only=True)
class RunSpec:
    """One run: data, model, training. Frozen; `with_values` makes a changed copy.

    Raises
    ------
    UsageError : a value of the wrong type, outside its limits, or in contradiction to another.
    """

    dataset: str = _option(
        "cora", "Data set: a name of `lipgnn datasets list`, a file or a folder; :undirected may follow."
    )
    split: str = _option("public", "Split: public, geom-gcn:K or random:SEED[:TRAIN:VAL] (per class).")
    missing: float = _option(0.0, "Share of nodes outside the training set whose features are erased.", low=0, high=1)
    model: str = _option("gat", "Kind of layer.", choices=tuple(MODELS))
    layers: int = _option(10, "Number of layers.", low=1)
    hidden: int = _option(8, "Width of one head; the network is heads × hidden wide.", low=1)
    heads: int = _option(8, "Number of heads.", low=1)
    norm: str = _option("lip", f"Score norm and feature norm, joined by +: {_NORM_NAMES}.")
    kappa: float = _option(4.0, "LipschitzNorm keeps scores within ±1/kappa.", low=1e-6, high=1e6)
    residual: str = _option(
        "scaled",
        "What becomes of a layer's input: added as it is, with the output divided by √layers, mixed, or lost.",
        choices=tuple(RESIDUALS),
    )
    alpha: float = _option(0.1, "Share of the first features in every layer, with --residual initial.", low=0, high=1)
    beta: float = _option(
        0.5, "Layer l maps by (1−b) I + b W with b = log(beta/l + 1), with --residual initial.", low=0, high=10
    )
    skip: str = _option("own", "Whether gt layers have their own linear skip.", choices=SKIPS)
    mlp: str = _option("none", "An MLP after every layer.", choices=tuple(MLPS))
    norm_place: str = _option("branch", "Where the feature norm acts.", choices=tuple(NORM_PLACES))
    weight_norm: str = _option(
        "none", "Largest singular value of every linear map: none, cap:C or fix:C; C a number or, say, 4/L."
    )
    init: str = _option("glorot", "How the maps of a layer start.", choices=tuple(INITS))
    activation: str = _option("elu", "After every layer.", choices=ACTIVATIONS)
    dropout: float = _option(0.6, "Dropout on the input of encoder and decoder.", low=0, below=1)
    layer_dropout: float = _option(0.0, "Dropout on the input of every layer.", low=0, below=1)
    attn_dropout: float = _option(0.0, "Dropout on the attention weights of every layer.", low=0, below=1)
    features: str = _option(
        "row",
        "Features as given, rows scaled to sum 1, or svd: not the data's own, but a substitute made from the graph.",
        choices=FEATURE_FORMS,
    )
    lr: float = _option(0.005, "Learning rate of Adam.", low=1e-12, high=1e3)
    weight_decay: float = _option(5e-3, "L2 penalty of Adam.", low=0, high=1e3)
    layer_weight_decay: str = _option(
        "same", "That of the layers, without encoder and decoder: a number, or same.", or_number=True
    )
    clip: float = _option(0.0, "Largest norm of the whole gradient; 0 is off.", low=0, high=1e12)
    schedule: str = _option("none", "Course of the learning rate.", choices=("none", "plateau", "cosine", "halve"))
    batch_size: int = _option(0, "Nodes, or graphs, a step; 0 is all at once.", low=0)
    fanout: int = _option(10, "Neighbours sampled for a node in every layer, where nodes come in batches.", low=1)
    eval_every: int = _option(1, "Epochs between evaluations.", low=1)
    epochs: int = _option(200, "Largest number of epochs.", low=1)
    patience: int = _option(50, "Stop after so many epochs without a better validation; 0 is off.", low=0)
    select: str = _option("val_score", "What chooses the best epoch.", choices=("val_score", "val_loss", "train_score"))
    seed: int = _option(0, "Seed of weights and dropout.", low=0, high=2**32 - 1)
    device: str = _option("auto", "auto, cpu, cuda or cuda:K.")
    dtype: str = _option("float32", "Floating-point type.", choices=("float32", "float64"))
    kernel: str = _option("auto", "Implementation of attention.", choices=tuple(KERNELS))
    stack: str = _option(
        "plain", "How blocks follow each other; reversible ones need no memory.", choices=tuple(STACKS)
    )
    recompute_every: str = _option(
        "auto",
        "Keep activations of every K-th block only and recompute the rest; 0 is off, auto looks at free memory.",
        or_number=True,
    )

    def __post_init__(self) -> None:
        for option in fields(self):
            object.__setattr__(self, option.name, parse_value(option.name, getattr(self, option.name)))
        # One spelling, so that one run has one id.
        object.__setattr__(self, "weight_norm", str(parse_weight_norm(self.weight_norm) or NO_NORM))
        own = self.weight_decay_of_layers
        object.__setattr__(self, "layer_weight_decay", "same" if own == self.weight_decay else _digits(own))
        check_network(self)
        check_recomputation(self.stack, _distance(self.recompute_every))
        check_batches(self.stack, self.batch_size, many_graphs=is_trees(self.dataset))

    @property
    def weight_decay_of_layers(self) -> float:
        """The L2 penalty of all weights but those of encoder and decoder."""
        if self.layer_weight_decay == "same":
            return self.weight_decay
        try:
            return parse_value("weight_decay", self.layer_weight_decay)
        except UsageError as error:
            raise UsageError(f"layer_{error.message}", "A number, or same for that of --weight-decay.") from None

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> RunSpec:
        """A specification from a dictionary; unknown keys are errors with the nearest match."""
        for key in values:
            if key not in FIELDS:
                raise unknown_name("option", key, FIELDS)
        return cls(**values)

    def with_values(self, **changes: Any) -> RunSpec:
        """A copy with other values, checked anew."""
        return dataclasses.replace(self, **changes)

    def to_dict(self) -> dict[str, Any]:
        """All fields by name, in their order."""
        return {name: getattr(self, name) for name in FIELDS}

    def run_id(self, fingerprint: str) -> str:
        """12 hex digits: the hash of what is computed, on which data.

        Where and how it is computed (`HOW`) is left out.

        Parameters
        ----------
        fingerprint : of the data set, which also covers the split.
        """
        what = {key: value for key, value in self.to_dict().items() if key not in HOW}
        content = {"schema": SCHEMA, "fingerprint": fingerprint, "spec": what}
        canonical = json.dumps(content, sort_keys=True, allow_nan=False)
        return sha256(canonical.encode())[:12]


FIELDS = {option.name: option for option in fields(RunSpec)}
_TYPES = {"str": str, "int": int, "float": float}


def parse_value(name: str, value: Any) -> Any:
    """The value of field `name`, converted from text where needed and checked against its limits.

    Raises
    ------
    UsageError : names the option, the value received and what is accepted.
    """
    option = FIELDS[name]
    kind, limits = _TYPES[option.type], option.metadata
    if limits.get("or_number") and type(value) in (int, float):
        value = _digits(value)
    parsed = _convert(name, kind, value)
    if "choices" in limits and parsed not in limits["choices"]:
        raise unknown_name(f"value of {name}", parsed, limits["choices"])
    low, high, below = limits.get("low"), limits.get("high"), limits.get("below")
    outside = (
        (low is not None and parsed < low)
        or (high is not None and parsed > high)
        or (below is not None and parsed >= below)
    )
    if outside:
        parts = [f"at least {low}", f"at most {high}" if high is not None else None]
        parts.append(f"below {below}" if below is not None else None)
        raise UsageError(f"{name} must be {' and '.join(filter(None, parts))}, got {value!r}.")
    return parsed


def _digits(number: float) -> str:
    """As short as can be without another number being meant."""
    return str(number).removesuffix(".0")


def _distance(recompute_every: str) -> int:
    """Blocks between checkpoints as far as they are known before the run: 0 for auto."""
    if recompute_every == "auto":
        return 0
    if not recompute_every.isdecimal():
        raise UsageError(f"recompute_every must be auto or a whole number, got {recompute_every!r}.", "0 is off.")
    return int(recompute_every)


def _convert(name: str, kind: type, value: Any) -> Any:
    # Numbers may be given as text; everything else must be what it is: no booleans, no fractions for whole numbers.
    if type(value) is kind or (kind is not str and isinstance(value, str)) or (kind is float and type(value) is int):
        try:
            parsed = kind(value)
        except ValueError:
            parsed = None
        if parsed is not None and (kind is not float or math.isfinite(parsed)):
            return parsed
    wanted = {str: "a text", int: "a whole number", float: "a number"}[kind]
    raise UsageError(f"{name} must be {wanted}, got {value!r}.")
