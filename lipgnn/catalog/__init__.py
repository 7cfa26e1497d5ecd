"""Names, one-line descriptions and defaults of all that can be chosen; no torch here.

Every list of valid names in the program, its help texts, error messages and tables comes from this room. An entry that
stands for a class says where it is ("module:Class"); it is imported when it is first needed.
"""

from lipgnn.catalog.datasets import DATASETS, FEATURE_FORMS, UNDIRECTED, DatasetEntry, OgbEntry, dataset_entry
from lipgnn.catalog.entry import Entry, check_name
from lipgnn.catalog.network import (
    ACTIVATIONS,
    ATTENTION_MODELS,
    FEATURE_NORMS,
    FUSED_NORMS,
    INITS,
    KERNELS,
    LINEAR_MODELS,
    MLPS,
    MODELS,
    NO_NORM,
    NORM_PLACES,
    RESIDUALS,
    SCORE_NORMS,
    SKIPS,
    STACKS,
    SUMS,
    VALUE_MODELS,
    WeightNorm,
    parse_norm,
    parse_weight_norm,
)
from lipgnn.catalog.tasks import METRICS, TASKS, MetricEntry, find_task, task_of

__all__ = [
    "ACTIVATIONS",
    "ATTENTION_MODELS",
    "DATASETS",
    "FEATURE_FORMS",
    "FEATURE_NORMS",
    "FUSED_NORMS",
    "INITS",
    "KERNELS",
    "LINEAR_MODELS",
    "METRICS",
    "MLPS",
    "MODELS",
    "NORM_PLACES",
    "NO_NORM",
    "RESIDUALS",
    "SCORE_NORMS",
    "SKIPS",
    "STACKS",
    "SUMS",
    "TASKS",
    "UNDIRECTED",
    "VALUE_MODELS",
    "DatasetEntry",
    "Entry",
    "MetricEntry",
    "OgbEntry",
    "WeightNorm",
    "check_name",
    "dataset_entry",
    "find_task",
    "parse_norm",
    "parse_weight_norm",
    "task_of",
]
