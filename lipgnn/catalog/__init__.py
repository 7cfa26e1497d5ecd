"""Names, one-line descriptions and defaults of all that can be chosen; no torch here.

Every list of valid names in the program, its help texts, error messages and tables comes from this room. An entry that
stands for a class says where it is ("module:Class"); it is imported when it is first needed.
"""

from lipgnn.catalog.datasets import (
    DATASETS,
    FEATURE_FORMS,
    UNDIRECTED,
    DatasetEntry,
    FetchedEntry,
    FileEntry,
    OgbEntry,
    cautions,
    dataset_entry,
    split_name,
)
from lipgnn.catalog.entry import Entry, check_name
from lipgnn.catalog.layers import MODELS, LayerEntry, models_with
from lipgnn.catalog.network import (
    ACTIVATIONS,
    BIASES,
    INITS,
    JUMPS,
    KERNELS,
    MLPS,
    NORM_PLACES,
    RESIDUALS,
    SKIPS,
    STACKS,
    SUMS,
)
from lipgnn.catalog.norms import (
    ADDITIVE,
    DOT_PRODUCT,
    DYNAMIC,
    FEATURE_NORMS,
    NO_NORM,
    SCORE_NORMS,
    FeatureNormEntry,
    ScoreNormEntry,
    fused_norms,
    parse_norm,
)
from lipgnn.catalog.recipes import SUMS_RECIPE
from lipgnn.catalog.tasks import AUTO_METRIC, METRICS, TASKS, MetricEntry, find_task, task_of

__all__ = [
    "ACTIVATIONS",
    "ADDITIVE",
    "AUTO_METRIC",
    "BIASES",
    "DATASETS",
    "DOT_PRODUCT",
    "DYNAMIC",
    "FEATURE_FORMS",
    "FEATURE_NORMS",
    "INITS",
    "JUMPS",
    "KERNELS",
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
    "SUMS_RECIPE",
    "TASKS",
    "UNDIRECTED",
    "DatasetEntry",
    "Entry",
    "FeatureNormEntry",
    "FetchedEntry",
    "FileEntry",
    "LayerEntry",
    "MetricEntry",
    "OgbEntry",
    "ScoreNormEntry",
    "cautions",
    "check_name",
    "dataset_entry",
    "find_task",
    "fused_norms",
    "models_with",
    "parse_norm",
    "split_name",
    "task_of",
]
