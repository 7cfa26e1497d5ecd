"""Walks on directed graphs whose edges are chosen by logits: where they end, how likely a path is, and samples.

Cordonnier & Loukas, Extrapolating paths with graph neural networks (IJCAI 2019). Many windows, each with walkers and a
number of steps of its own, lie side by side as one graph.
"""

from lipgnn.walks.best import best_nodes, hits
from lipgnn.walks.choices import log_choices, log_continuing
from lipgnn.walks.graph import WalkGraph, continuations_size
from lipgnn.walks.mass import walk
from lipgnn.walks.paths import EdgePaths, choice_hits, path_log_likelihood
from lipgnn.walks.samples import Samples, sample_paths
from lipgnn.walks.scopes import SideBySide, lay_side_by_side, reachable, upstream
from lipgnn.walks.segments import segment_sums

__all__ = [
    "EdgePaths",
    "Samples",
    "SideBySide",
    "WalkGraph",
    "best_nodes",
    "choice_hits",
    "continuations_size",
    "hits",
    "lay_side_by_side",
    "log_choices",
    "log_continuing",
    "path_log_likelihood",
    "reachable",
    "sample_paths",
    "segment_sums",
    "upstream",
    "walk",
]
