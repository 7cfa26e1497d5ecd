"""Names, one-line descriptions and defaults of data sets, models and norms; no torch here.

Every list of valid names in the program, its help texts, error messages and tables comes from this file.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from lipgnn.errors import UsageError, unknown_name


@dataclass(frozen=True)
class Entry:
    """Something that can be chosen by name.

    Attributes
    ----------
    description : one line for help texts and tables.
    defaults : run options that take another value than the built-in one when this entry is chosen.
    """

    description: str
    defaults: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class DatasetEntry(Entry):
    """A data set known by name.

    Attributes
    ----------
    origin : "ships" (a file in data/), "generated", or "data directory" (the user brings the files).
    source : who published it.
    fingerprint : of the data with its public split, for those that ship.
    """

    origin: str = "data directory"
    source: str = ""
    fingerprint: str | None = None


@dataclass(frozen=True)
class OgbEntry(DatasetEntry):
    """A node property prediction set of OGB; the facts are those of OGB's own list of them.

    Attributes
    ----------
    outputs : how many classes, or how many yes-or-no tasks where a node has several labels.
    several_labels : whether a node has a label for each of several tasks.
    directed : False where each pair is listed once and means both directions.
    url : the archive that `lipgnn datasets fetch` downloads.
    sha256 : of that archive, where one is known; OGB publishes none.
    """

    outputs: int = 0
    several_labels: bool = False
    directed: bool = True
    url: str = ""
    sha256: str | None = None


_PLANETOID = "Planetoid (Yang et al. 2016), from LINQS (Sen et al. 2008)"


def _planetoid(description: str, fingerprint: str) -> DatasetEntry:
    return DatasetEntry(description, {}, "ships", _PLANETOID, fingerprint)


def _geom_gcn(description: str) -> DatasetEntry:
    return DatasetEntry(description, {"split": "geom-gcn:0"}, "data directory", "Geom-GCN (Pei et al. 2020)")


def _ogb(description: str, file: str, outputs: int, *, directed: bool, several_labels: bool = False) -> OgbEntry:
    return OgbEntry(
        description,
        # Their features are vectors of real numbers: a sum of ones means nothing there.
        {"features": "raw"},
        source="OGB (Hu et al. 2020)",
        outputs=outputs,
        several_labels=several_labels,
        directed=directed,
        url=f"http://snap.stanford.edu/ogb/data/nodeproppred/{file}",
    )


DATASETS: dict[str, DatasetEntry] = {
    "cora": _planetoid("citations between machine-learning papers, 7 topics", "2f076c7e7e3e6f37"),
    "citeseer": _planetoid("citations between computer-science papers, 6 topics", "b7277d34a3c61321"),
    "pubmed": _planetoid("citations between diabetes papers, 3 types", "29c28cc750352a49"),
    "planted": DatasetEntry("a small planted partition, for tests and demonstrations", {}, "generated", "lipgnn"),
    "chameleon": _geom_gcn("links between Wikipedia pages, 5 traffic classes"),
    "squirrel": _geom_gcn("links between Wikipedia pages, 5 traffic classes"),
    "film": _geom_gcn("actors named on the same page, 5 types"),
    "texas": _geom_gcn("links between university pages, 5 types"),
    "wisconsin": _geom_gcn("links between university pages, 5 types"),
    "cornell": _geom_gcn("links between university pages, 5 types"),
    "trees": DatasetEntry(
        "NeighborsMatch: keys to look up at the leaves of a tree; trees:R has radius R", {}, "generated", "lipgnn"
    ),
    "ogbn-arxiv": _ogb("citations between arXiv papers, 40 subjects", "arxiv.zip", 40, directed=True),
    "ogbn-products": _ogb("products bought together, 47 categories", "products.zip", 47, directed=False),
    "ogbn-proteins": _ogb(
        "associations between proteins, 112 yes-or-no functions",
        "proteins.zip",
        112,
        directed=False,
        several_labels=True,
    ),
}

UNDIRECTED = ":undirected"
"""Behind the name or path of a data set: every edge in both directions."""

# "svd" is a substitute made from the graph, for data whose own features are not at hand.
FEATURE_FORMS = ("raw", "row", "svd")

NO_NORM = "none"

RESIDUALS = ("none", "identity", "scaled")

NORM_PLACES: dict[str, Entry] = {
    "branch": Entry("on the output of a layer, before its activation and the residual sum"),
    "sum": Entry("after the activation and the residual sum (Alon & Yahav 2021)"),
}

STACKS: dict[str, Entry] = {
    "plain": Entry("every block after the other, all activations kept"),
    "reversible": Entry("two halves of the features, activations recomputed by inversion (Li et al. 2021)"),
}

KERNELS: dict[str, Entry] = {
    "auto": Entry("the fastest that applies"),
    "dgl": Entry("DGL's message passing: the reference, on CPU and CUDA"),
    "fused": Entry("the whole attention step in one compiled kernel, on the CPU"),
    "triton": Entry("the same algorithm for CUDA, with any torch that has Triton"),
}

MODELS: dict[str, Entry] = {
    "gat": Entry("graph attention network (Veličković et al. 2018)"),
    # The paper's dot-product formula has no further constant, the additive one has 4.
    "gt": Entry("graph transformer with linear skip (Shi et al. 2021)", {"kappa": 1.0}),
    # These have no attention scores for the default norm to act on.
    "gcn": Entry("graph convolution (Kipf & Welling 2017)", {"norm": NO_NORM}),
    "gin": Entry("graph isomorphism network (Xu et al. 2019)", {"norm": NO_NORM}),
    "ggnn": Entry("gated graph network, one step a layer (Li et al. 2016)", {"norm": NO_NORM}),
}
ATTENTION_MODELS = ("gat", "gt")

SCORE_NORMS: dict[str, Entry] = {
    "lip": Entry("LipschitzNorm on the attention scores (Dasoulas et al. 2021)"),
    "lip-all-heads": Entry("the same with one length of the attention vectors over all heads"),
    "lip-source": Entry("the same with the length of the source in place of the target's; not the theorem"),
    "lip-released": Entry("what the code released with the paper computes; not the theorem"),
}
# Those that kernels other than the reference know.
FUSED_NORMS = (NO_NORM, "lip")
FEATURE_NORMS: dict[str, Entry] = {
    "pair": Entry("PairNorm (Zhao & Akoglu 2020)"),
    "pair-si": Entry("PairNorm, every node scaled on its own"),
    "layer": Entry("LayerNorm, every node on its own (Ba et al. 2016)"),
    "layer-graph": Entry("LayerNorm over all nodes and channels together"),
    "batch": Entry("BatchNorm over the nodes (Ioffe & Szegedy 2015)"),
}


def dataset_entry(dataset: str) -> DatasetEntry | None:
    """What is known of a data set, whatever suffix its name has; None for a path or a name of the user's own."""
    return DATASETS.get(dataset.removesuffix(UNDIRECTED))


def parse_norm(norm: str) -> tuple[str | None, str | None]:
    """Split a norm such as `lip+layer` into its score norm and its feature norm.

    Raises
    ------
    UsageError : an unknown name, or two norms of one kind.
    """
    if norm == NO_NORM:
        return None, None
    score = feature = None
    for part in norm.split("+"):
        if part in SCORE_NORMS and score is None:
            score = part
        elif part in FEATURE_NORMS and feature is None:
            feature = part
        elif part in SCORE_NORMS or part in FEATURE_NORMS:
            raise UsageError(
                f"Norm {norm!r} names two norms of one kind.",
                "Join at most one score norm and one feature norm, e.g. 'lip+layer'.",
            )
        else:
            raise unknown_name("norm", part, [NO_NORM, *SCORE_NORMS, *FEATURE_NORMS])
    return score, feature


def check_norm_fits(norm: str, model: str) -> None:
    """Refuse a score norm for a model without attention scores.

    Raises
    ------
    UsageError : also for an unknown norm.
    """
    score, _ = parse_norm(norm)
    if score and model not in ATTENTION_MODELS:
        raise UsageError(
            f"Norm {norm!r} acts on attention scores, and model {model!r} has none.",
            f"Use model {' or '.join(ATTENTION_MODELS)}, or a norm among {', '.join([NO_NORM, *FEATURE_NORMS])}.",
        )
    if score and score != "lip" and model != "gat":
        raise UsageError(f"Norm {norm!r} is of the additive scores of gat, and the model is {model!r}.", "Use 'lip'.")


def check_stack_fits(stack: str, residual: str, hidden: int, checkpoint_every: int = 0) -> None:
    """Refuse a reversible stack where it cannot be.

    Raises
    ------
    UsageError : without a residual nothing can be inverted, an odd width has no halves, and where no activations
        are kept there are none to keep fewer of.
    """
    if stack != "reversible":
        return
    if residual == "none":
        raise UsageError("A reversible stack needs a residual connection, got 'none'.", "Use --residual scaled.")
    if hidden % 2:
        raise UsageError(
            f"A reversible stack splits every head in two, and hidden is {hidden}.", "Use an even --hidden."
        )
    if checkpoint_every:
        raise UsageError(
            f"A reversible stack keeps no activations, and checkpoint_every is {checkpoint_every}.",
            "Use --checkpoint-every 0 or auto, or --stack plain.",
        )


def check_norm_place(place: str, stack: str) -> None:
    """Refuse a norm after the sum where the sum is to be inverted.

    Raises
    ------
    UsageError : the stack is reversible.
    """
    if place == "sum" and stack == "reversible":
        raise UsageError(
            "A norm after the residual sum cannot be inverted, and the stack is reversible.",
            "Use --norm-place branch, or --stack plain.",
        )


def check_batches_fit(batch_size: int, stack: str, *, many_graphs: bool) -> None:
    """Refuse to sample neighbours for a reversible stack.

    Raises
    ------
    UsageError : every layer of a sample has fewer nodes than the one before, which leaves nothing to invert.
    """
    if batch_size and stack == "reversible" and not many_graphs:
        raise UsageError(
            f"A reversible stack needs the same nodes in every layer, which samples of batch_size {batch_size} lack.",
            "Use --batch-size 0, or --stack plain.",
        )


def check_name(kind: str, received: str, valid: Collection[str]) -> None:
    """Raise the error of `unknown_name` unless `received` is in `valid`."""
    if received not in valid:
        raise unknown_name(kind, received, valid)
