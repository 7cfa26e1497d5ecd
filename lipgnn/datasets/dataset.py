"""What a model trains on: a prepared graph, its features, labels and one split."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from lipgnn.catalog import AUTO_FORM
from lipgnn.datasets.features import transform
from lipgnn.datasets.learnable import unlearnable
from lipgnn.datasets.prepare import fingerprint, prepare_edges, prepare_types
from lipgnn.datasets.source import Features, Source, Split, damaged
from lipgnn.datasets.spectral import substitute
from lipgnn.datasets.standard import Statistics, form_of, statistics_of

if TYPE_CHECKING:
    import torch

# Above this share of stored values a sparse product is slower than a dense one.
MAX_SPARSE_DENSITY = 0.25

NO_FEATURES = (
    "Add them (raw/node-feat.csv.gz of OGB's download, in a folder of OGB's), "
    "or use --features svd, a substitute made from the graph."
)


@dataclass(frozen=True, eq=False)
class Dataset:
    """A prepared data set; tensors are made, on the CPU, when first asked for.

    Attributes
    ----------
    source : the data as its authors give it.
    edges : (2, E) int64, each edge once, one self-loop a node, ordered by target and source; where edges have types,
        once for each of its types.
    features_array : (N, F) float32 after substitution, scaling and erasure.
    split : the chosen masks.
    fingerprint : 16 hex digits of the data and the split, whatever the feature options.
    edge_types : (E,) int64, the types of the edges, of which that of the self-loops is the last; None without types.
    form : of the features, one of FEATURE_FORMS; where `auto` was asked for, what it came to.
    statistics : by which features were standardized; None in other forms.
    """

    source: Source
    edges: np.ndarray
    features_array: Features
    split: Split
    fingerprint: str
    edge_types: np.ndarray | None = None
    form: str = "raw"
    statistics: Statistics | None = None

    @property
    def name(self) -> str:
        return self.source.name

    @property
    def num_nodes(self) -> int:
        return self.source.num_nodes

    @property
    def num_features(self) -> int:
        return self.features_array.shape[1]

    @property
    def shape(self) -> tuple[int, ...]:
        """The numbers of features and of classes, for which a network is made; and of types of edges, if there are."""
        types = () if self.edge_types is None else (self.num_edge_types,)
        return self.num_features, self.num_classes, *types

    @property
    def num_edge_types(self) -> int:
        """How many types of edges there are, that of the added self-loops among them; 0 where edges have no types."""
        return 0 if self.edge_types is None else self.source.num_edge_types + 1

    @property
    def num_classes(self) -> int:
        return self.source.num_classes

    @property
    def task(self) -> str:
        """The name of its task: several yes-or-no labels for a node, or one class."""
        return "labels" if self.source.several_labels else "nodes"

    @property
    def class_names(self) -> tuple[str, ...] | None:
        return self.source.class_names

    @property
    def labels_array(self) -> np.ndarray:
        return self.source.labels

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a reader should know of how it was read, and of what cannot be learned from it, a sentence each."""
        return (*self.source.remarks, *unlearnable(self.source, self.split))

    @cached_property
    def graph(self) -> Any:
        """The DGL graph, with self-loops, and with the types of its edges where they have such."""
        from lipgnn.runtime import EDGE_TYPE, dgl

        sources, targets = (_tensor(row) for row in self.edges)
        graph = dgl.graph((sources, targets), num_nodes=self.num_nodes)
        if self.edge_types is not None:
            graph.edata[EDGE_TYPE] = _tensor(self.edge_types)
        return graph

    @cached_property
    def features(self) -> torch.Tensor:
        """(N, F) float32; coalesced sparse COO if most entries are zero, else dense."""
        import torch

        matrix = self.features_array
        if not sparse.issparse(matrix):
            return _tensor(matrix)
        if matrix.nnz >= MAX_SPARSE_DENSITY * matrix.shape[0] * matrix.shape[1]:
            return _tensor(matrix.toarray())
        entries = matrix.tocoo()
        indices = _tensor(np.stack([entries.row, entries.col]).astype(np.int64))
        # COO and not CSR: torch warns that its CSR tensors are unfinished.
        return torch.sparse_coo_tensor(
            indices, _tensor(matrix.data), matrix.shape, device="cpu", check_invariants=False
        ).coalesce()

    @cached_property
    def labels(self) -> torch.Tensor:
        return _tensor(self.labels_array)

    @cached_property
    def train_mask(self) -> torch.Tensor:
        return _tensor(self.split.train)

    @cached_property
    def val_mask(self) -> torch.Tensor:
        return _tensor(self.split.val)

    @cached_property
    def test_mask(self) -> torch.Tensor:
        return _tensor(self.split.test)


def prepare(
    source: Source,
    split: Split,
    *,
    features: str = "raw",
    missing: float = 0.0,
    statistics: Statistics | None = None,
) -> Dataset:
    """Make a data set from the form its authors give it, one of its splits and the feature options of a run.

    Parameters
    ----------
    features : one of FEATURE_FORMS.
    missing : share of the nodes outside the training mask whose features are erased.
    statistics : by which features are standardized; those of the data itself if None. Where these are of another number
        of features, which no model fits, those of the data are taken as well.

    Raises
    ------
    UsageError : an option out of range.
    DataError : the data comes without features, and no substitute is asked for.
    """
    edges = prepare_edges(source)
    if features == "svd":
        # Made from who is joined to whom, once, whatever the types.
        simple = edges if source.edge_types is None else prepare_edges(replace(source, edge_types=None))
        given = substitute(simple, source.num_nodes)
    elif source.num_features:
        given = source.features
    else:
        raise damaged(source.origin or source.name, "it comes without node features", NO_FEATURES)
    form, used = form_of(given) if features == AUTO_FORM else features, None
    if form == "standard":
        fits = statistics is not None and len(statistics.mean) == given.shape[1]
        used = statistics if fits else statistics_of(given)
    transformed = transform(given, split, option=form, missing=missing, statistics=used)
    types = prepare_types(source)
    return Dataset(source, edges, transformed, split, fingerprint(source, edges, split), types, form, used)


def _tensor(array: np.ndarray) -> torch.Tensor:
    """A copy on the CPU, whatever torch's default device is."""
    import torch

    return torch.tensor(np.ascontiguousarray(array), device="cpu")
