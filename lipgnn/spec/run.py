"""The run specification: what a run computes, checked once, hashed into its id.

Field names are the option names of the command line, the keys of a TOML file and the columns of results.csv.
"""

from __future__ import annotations

import copy
import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from lipgnn.catalog import (
    AUTO_METRIC,
    FEATURE_FORMS,
    MEMORIES,
    METRICS,
    OPTIMIZERS,
    PATH_LOSSES,
    PREDICTIONS,
    READOUTS,
    SCALES,
    SCHEDULES,
    SYMMETRIES,
    TRANSITIONS,
    WALKS,
    Entry,
    find_task,
    split_name,
    task_name,
)
from lipgnn.errors import UsageError, did_you_mean, unknown_name
from lipgnn.files import sha256
from lipgnn.spec.compression import NO_COMPRESSION, parse_compress
from lipgnn.spec.horizon import check_horizon
from lipgnn.spec.learning import check_learning
from lipgnn.spec.network import NetworkSpec
from lipgnn.spec.of_task import check_of_task
from lipgnn.spec.options import GROUPS, checked, default_of, digits, option, task_option
from lipgnn.spec.start import COMPRESSED, SCRATCH, check_start, check_start_name

# Part of every run id: raise it when the same specification starts to mean another computation.
SCHEMA = 2

# Where and how a run is computed, not what: every kernel equals the reference up to rounding, recomputed activations
# are the same, workers take the steps of one process, and a store may move between machines. These are not part of a
# run's id.
HOW = ("device", "kernel", "recompute_every", "workers")

MOST_WORKERS = 1024

_DATA, _TRAINING, _PATHS, _IMAGES, _COMPUTE = "data", "training", "paths", "images", "compute"
_METRICS = {AUTO_METRIC: Entry("the metric of the data set"), **METRICS}


_SAME = "same"


def _check_layer_decay(text: str) -> None:
    if text != _SAME:
        try:
            parse_value("weight_decay", text)
        except UsageError as error:
            hint = f"{did_you_mean(text, [_SAME])}A number, or {_SAME} for that of --weight-decay."
            raise UsageError(f"layer_{error.message}", hint) from None


@dataclass(frozen=True, kw_only=True)
class RunSpec(NetworkSpec):
    """One run: a network, its data and its training. Frozen; `with_values` makes a changed copy.

    Raises
    ------
    UsageError : a value of the wrong type, outside its limits, or in contradiction to another.
    """

    dataset: str = option(
        _DATA, "cora", "The data set: a name of `lipgnn datasets list`, a file or a folder; :undirected may follow."
    )
    split: str = option(
        _DATA,
        "public",
        "The split: public, a number, geom-gcn:K, random:SEED[:TRAIN:VAL] (per class), or all.",
        or_number=int,
    )
    missing: float = option(
        _DATA, 0.0, "The share of nodes outside the training set whose features are erased.", low=0, high=1
    )
    features: str = option(_DATA, "row", "The form of the features.", catalog=FEATURE_FORMS)
    metric: str = option(_DATA, AUTO_METRIC, "What a score is.", catalog=_METRICS)
    lr: float = option(_TRAINING, 0.01, "The learning rate.", low=1e-12, high=1e6)
    weight_decay: float = option(_TRAINING, 5e-4, "The L2 penalty on encoder and decoder.", low=0, high=1e3)
    layer_weight_decay: str = option(
        _TRAINING,
        "0.01",
        "The L2 penalty on the layers: a number, or same for that of encoder and decoder.",
        or_number=float,
        word=_SAME,
        syntax=_check_layer_decay,
    )
    clip: float = option(_TRAINING, 0.0, "The largest norm of the whole gradient; 0 is off.", low=0, high=1e12)
    optimizer: str = option(_TRAINING, "adam", "What changes the weights.", catalog=OPTIMIZERS, neutral="adam")
    schedule: str = option(_TRAINING, "none", "The course of the learning rate.", catalog=SCHEDULES)
    stop_lr: float = option(
        _TRAINING,
        0.0,
        "Stop when --schedule has lowered the learning rate to this or less; 0 is off.",
        low=0,
        high=1e6,
        neutral=0.0,
    )
    shift: float = option(
        _TRAINING,
        0.0,
        "The a of --schedule inverse and of the weights (t + a)² of --optimizer memsgd; 0 is the number "
        "of all coordinates divided by the number that is sent.",
        low=0,
        high=1e12,
        neutral=0.0,
    )
    compress: str = option(
        _TRAINING,
        NO_COMPRESSION,
        "What is sent of a gradient: none (all of it), fp16, topk:R, randk:R, qsgd:BITS or powersgd:RANK; R is a "
        "share below 1 or a number of coordinates.",
        neutral=NO_COMPRESSION,
        syntax=parse_compress,
    )
    compress_memory: str = option(
        _TRAINING, "on", "What becomes of what is left out, with --compress.", catalog=MEMORIES, neutral="on"
    )
    compress_scale: str = option(
        _TRAINING, "lr", "How memory keeps what is left out, with --compress.", catalog=SCALES, neutral="lr"
    )
    batch_size: int = option(_TRAINING, 0, "Nodes, graphs, trajectories or images per step; 0 is all at once.", low=0)
    fanout: int = option(
        _TRAINING, 10, "Neighbours sampled for a node in every layer, where nodes come in batches.", low=1
    )
    eval_every: int = option(_TRAINING, 1, "Epochs between evaluations.", low=1)
    epochs: int = option(_TRAINING, 1500, "The largest number of epochs.", low=1)
    patience: int = option(_TRAINING, 100, "Stop after this many epochs without a better validation; 0 is off.", low=0)
    select: str = option(
        _TRAINING,
        "val_loss",
        "What chooses the best epoch; last takes the last one.",
        choices=("val_score", "val_loss", "train_score", "last"),
    )
    start: str = option(
        _TRAINING,
        SCRATCH,
        "Where the weights start: scratch, or compressed, from the same network with plain heads, trained before.",
        neutral=SCRATCH,
        syntax=check_start_name,
    )
    finetune: int = option(
        _TRAINING, 0, "The largest number of epochs after compression, with --start compressed.", low=0, neutral=0
    )
    seed: int = option(_TRAINING, 0, "The seed of weights and dropout.", low=0, high=2**32 - 1)
    dtype: str = option(_TRAINING, "float32", "The floating-point type.", choices=("float32", "float64"))
    observed: int = task_option(_PATHS, 5, "The observations of a trajectory that a prediction is given.", low=1)
    predict: str = task_option(_PATHS, "next", "What is predicted.", catalog=PREDICTIONS)
    horizon: str = task_option(
        _PATHS,
        "given",
        "The steps of a walk: given, as many as the true path has, or shortest:X, X times the shortest path.",
        syntax=check_horizon,
    )
    walk: str = task_option(_PATHS, "nb", "How a walker goes on.", catalog=WALKS)
    loss: str = task_option(
        _PATHS, "nll-nb", "What training makes small; with --walk plain the default is nll.", catalog=PATH_LOSSES
    )
    transitions: str = task_option(_PATHS, "uniform", "How model diffusion spreads.", catalog=TRANSITIONS)
    directions: str = task_option(
        _PATHS, "forward", "The direction of edges in the encoder.", choices=("forward", "both")
    )
    group: str = task_option(_IMAGES, "p4", "What the network is made to respect.", catalog=SYMMETRIES)
    reach: int = task_option(
        _IMAGES, 1, "Pixels look at others up to this many rows and columns away.", low=0, high=1000
    )
    readout: str = task_option(_IMAGES, "max", "What is taken over the group elements.", catalog=READOUTS)
    device: str = option(_COMPUTE, "auto", "Where to compute: auto, cpu, cuda or cuda:K.")
    workers: int = option(
        _COMPUTE, 1, "Processes that divide every batch among them.", low=1, high=MOST_WORKERS, neutral=1
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "compress", str(parse_compress(self.compress) or NO_COMPRESSION))
        check_learning(self)
        check_start(self.start, self.finetune, self.head_sharing)
        decay = self.weight_decay_of_layers
        object.__setattr__(self, "layer_weight_decay", _SAME if decay == self.weight_decay else digits(decay))
        object.__setattr__(self, "split", split_name(self.dataset, self.split))
        own = task_name(self.dataset)
        self._settle_task_options(own)
        check_of_task(self, own)
        task = find_task(own)
        if self.metric == AUTO_METRIC:
            # A name, so that one run has one id; of data that is known by its file alone, `measured` finds it.
            object.__setattr__(self, "metric", task.metric_of(self.dataset) or AUTO_METRIC)
        task.check(self)

    def _settle_task_options(self, task: str) -> None:
        """Options of this task have their defaults, and those of others have no value."""
        following = find_task(task).following(self)
        for name, one in FIELDS.items():
            owner, value = one.metadata.get("task"), getattr(self, name)
            if owner == task and value is None:
                object.__setattr__(self, name, following.get(name, default_of(one)))
            elif owner not in (None, task) and value is not None:
                raise UsageError(
                    f"--{name.replace('_', '-')} is of task {owner}, and data set {self.dataset!r} is of {task}.",
                    "Leave it out.",
                )

    @property
    def own_epochs(self) -> int:
        """The largest number of epochs of the run itself, without those of the network that it starts from."""
        return self.finetune if self.start == COMPRESSED else self.epochs

    @property
    def plain(self) -> RunSpec:
        """The run whose network this one is the compression of: the same from scratch, with heads of their own."""
        own = ("head_sharing", "shared_dim", "mixing_init", "start", "finetune")
        return self.with_values(**{name: FIELDS[name].default for name in own})

    @property
    def weight_decay_of_layers(self) -> float:
        """The L2 penalty of all weights but those of encoder and decoder."""
        return self.weight_decay if self.layer_weight_decay == _SAME else float(self.layer_weight_decay)

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

    def computed(self, **how: str) -> RunSpec:
        """A copy that is computed in another way, by values of `HOW`: what it computes was checked already."""
        changed = copy.copy(self)
        for name, value in how.items():
            if name not in HOW:
                raise unknown_name("way to compute", name, HOW)
            object.__setattr__(changed, name, parse_value(name, value))
        return changed

    def to_dict(self) -> dict[str, Any]:
        """All fields by name, in the order of their groups."""
        return {name: getattr(self, name) for name in FIELDS}

    def run_id(self, fingerprint: str) -> str:
        """12 hex digits: the hash of what is computed, on which data.

        Where and how it is computed (`HOW`) is left out, and so are options that change nothing: a new option, or a
        task with options of its own, changes no id.

        Parameters
        ----------
        fingerprint : of the data set, which also covers the split.
        """
        what = {key: value for key, value in self.to_dict().items() if key not in HOW and not is_neutral(key, value)}
        content = {"schema": SCHEMA, "fingerprint": fingerprint, "spec": what}
        canonical = json.dumps(content, sort_keys=True, allow_nan=False)
        return sha256(canonical.encode())[:12]


FIELDS = {one.name: one for group in GROUPS for one in fields(RunSpec) if one.metadata["group"] == group}


def is_neutral(name: str, value: Any) -> bool:
    """Whether an option that is younger than others has the value that changes nothing."""
    limits = FIELDS[name].metadata
    return "neutral" in limits and limits["neutral"] == value


def parse_value(name: str, value: Any) -> Any:
    """The value of field `name`, converted from text where needed and checked against its limits.

    Raises
    ------
    UsageError : names the option, the value received and what is accepted.
    """
    return checked(FIELDS[name], value)
