"""Data sets known by name."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePath

from lipgnn.catalog.dataset_entries import DatasetEntry, FileEntry, ImagesEntry, OgbEntry, PathsEntry
from lipgnn.catalog.recipes import LINEAR_RECIPE, SUMS_RECIPE

GEOM_GCN = "geom-gcn:"
"""Before the number of a split of Geom-GCN's; of its own data sets the number will do."""

ALL = "all"
"""The split whose three parts are all nodes."""

_PLANETOID = "Planetoid (Yang et al. 2016), from LINQS (Sen et al. 2008)"


def _planetoid(description: str, fingerprint: str, edges: int) -> DatasetEntry:
    return DatasetEntry(description, origin="ships", source=_PLANETOID, fingerprint=fingerprint, edges=edges)


def _geom_gcn(description: str, caution: str = "") -> DatasetEntry:
    return DatasetEntry(description, {"split": f"{GEOM_GCN}0"}, source="Geom-GCN (Pei et al. 2020)", caution=caution)


def _duplicates(name: str) -> str:
    return (
        f"Data set {name!r} contains pages twice, so that test nodes are among those trained on; "
        f"{name + '-filtered'!r} is without them (Platonov et al. 2023)."
    )


def _heterophilous(
    name: str,
    description: str,
    *,
    megabytes: int,
    sha256: str | None = None,
    metric: str = "accuracy",
    edges: int | None = None,
    parameters: str = "",
) -> FileEntry:
    return FileEntry(
        description,
        # As its authors use it: features as they are, and the first of ten splits.
        {**LINEAR_RECIPE, "split": "0", "features": "raw"} | ({} if metric == "accuracy" else {"metric": metric}),
        source="Platonov et al. 2023",
        url=f"https://raw.githubusercontent.com/yandex-research/heterophilous-graphs/main/data/{name}.npz",
        largest=megabytes * 10**6,
        sha256=sha256,
        edges=edges,
        parameters=parameters,
        folder="heterophilous",
    )


def _shchur(file: str, description: str, *, megabytes: int) -> FileEntry:
    return FileEntry(
        description,
        {"split": "random:0"},
        source="Shchur et al. 2018",
        url=f"https://raw.githubusercontent.com/shchur/gnn-benchmark/master/data/npz/{file}.npz",
        largest=megabytes * 10**6,
        folder="gnn-benchmark",
    )


def _generated(description: str, edges: int | None = None):
    return DatasetEntry(description, origin="generated", source="lipgnn", edges=edges)


def _roads(description: str) -> PathsEntry:
    return PathsEntry(
        description,
        origin="generated",
        source="after Cordonnier & Loukas 2019",
        parameters="N",
        diffusion={"layers": 10, "lr": 0.05},
    )


# As the authors have them.
_READERS = {"observed": 4, "walk": "plain", "predict": "start-to-target", "batch_size": 10, "epochs": 5}
_READERS_DIFFUSED = {"layers": 5, "lr": 0.1, "transitions": "learned"}


def _traces(description: str, folder: str, *, cut_weights: bool = False) -> PathsEntry:
    caution = "Weights of an observation of 'geolife' may sum to less than 1; each is divided by their sum."
    return PathsEntry(
        description,
        source="Cordonnier & Loukas 2019",
        folder=folder,
        counted=(6, 40),
        cut_weights=cut_weights,
        caution=caution if cut_weights else "",
    )


def _ogb(
    description: str,
    file: str,
    outputs: int,
    *,
    directed: bool,
    largest: int,
    several_labels: bool = False,
    edges: int | None = None,
) -> OgbEntry:
    return OgbEntry(
        description,
        # Their features are vectors of real numbers: a sum of ones means nothing there. And there are labels enough to
        # do without dropout in every layer.
        {**SUMS_RECIPE, "features": "raw"} | ({"metric": "roc-auc"} if several_labels else {}),
        source="OGB (Hu et al. 2020)",
        outputs=outputs,
        edges=edges,
        several_labels=several_labels,
        directed=directed,
        # OGB's own list says http; the server answers to both.
        url=f"https://snap.stanford.edu/ogb/data/nodeproppred/{file}",
        largest=largest,
    )


DATASETS: dict[str, DatasetEntry] = {
    "cora": _planetoid("citations between machine-learning papers, 7 topics", "2f076c7e7e3e6f37", 13264),
    "citeseer": _planetoid("citations between computer-science papers, 6 topics", "b7277d34a3c61321", 12431),
    "pubmed": _planetoid("citations between diabetes papers, 3 types", "29c28cc750352a49", 108365),
    "planted": _generated("a small planted partition, for tests and demonstrations", 3058),
    "complete": _generated("200 nodes, each linked to all: attention without a graph", 40000),
    "digits-parity": DatasetEntry(
        "is a handwritten digit even? Pixels as features of nodes without edges, for logistic regression",
        # As the study of Mem-SGD has it: one linear map, whose optimum is that of all images.
        {"split": ALL, "features": "raw", "metric": "roc-auc", "layers": 0, "dropout": 0.0},
        origin="generated",
        source="Alpaydin & Kaynak 1998",
        edges=1797,
    ),
    "minesweeper": _heterophilous(
        "minesweeper",
        "the mines of a 100 × 100 grid, of which half of the cells are open",
        megabytes=5,
        sha256="e664c8dacf1e8ac466c2c09ed4b237bd2c5541f47a6eae9c6092cb87f16412b3",
        metric="roc-auc",
        edges=88804,
        parameters="SIZE[:SEED]",
    ),
    "roman-empire": _heterophilous(
        "roman_empire", "words of an article, 18 syntactic roles", megabytes=60, edges=88516
    ),
    "amazon-ratings": _heterophilous(
        "amazon_ratings", "products bought together, 5 mean ratings", megabytes=60, edges=210592
    ),
    "tolokers": _heterophilous(
        "tolokers",
        "workers on the same tasks, banned or not",
        megabytes=20,
        sha256="dacf3ac94cec53d03cd2adb5255c08b33dee1656c33ca8164a464bd9450a1667",
        metric="roc-auc",
        edges=1049758,
    ),
    "questions": _heterophilous(
        "questions", "users who answer each other, active or not", megabytes=120, metric="roc-auc", edges=356001
    ),
    "chameleon-filtered": _heterophilous(
        "chameleon_filtered",
        "chameleon without duplicates, 5 traffic classes",
        megabytes=20,
        sha256="bf46f07e1fb5249280447e5fe3100f3e82fc4b93ad1e13ffcfdec924b6ac0bb5",
    ),
    "squirrel-filtered": _heterophilous(
        "squirrel_filtered",
        "squirrel without duplicates, 5 traffic classes",
        megabytes=40,
        sha256="f06370ffb3116c5de8b7a600005400b2293c025e0ce2f6916d8201a825505ac7",
    ),
    "actor": _heterophilous(
        "actor",
        "actors named on the same page, 5 types",
        megabytes=60,
        sha256="c350eef06b2c2a9bf8218be2b57cac6d4003d0922eb597a039e9123f75817816",
    ),
    "amazon-computers": _shchur(
        "amazon_electronics_computers", "computers bought together, 10 categories", megabytes=60
    ),
    "amazon-photo": _shchur("amazon_electronics_photo", "cameras bought together, 8 categories", megabytes=30),
    "coauthor-cs": _shchur("ms_academic_cs", "authors of joint papers in computer science, 15 fields", megabytes=80),
    "coauthor-physics": _shchur("ms_academic_phy", "authors of joint papers in physics, 5 fields", megabytes=160),
    "chameleon": _geom_gcn("links between Wikipedia pages, 5 traffic classes", _duplicates("chameleon")),
    "squirrel": _geom_gcn("links between Wikipedia pages, 5 traffic classes", _duplicates("squirrel")),
    "film": _geom_gcn("actors named on the same page, 5 types"),
    "texas": _geom_gcn("links between university pages, 5 types"),
    "wisconsin": _geom_gcn("links between university pages, 5 types"),
    "cornell": _geom_gcn("links between university pages, 5 types"),
    "trees": DatasetEntry(
        "NeighborsMatch: a key to look up at the leaves of a tree; trees:R has radius R, 2 to 8",
        origin="many graphs",
        source="Alon & Yahav 2021",
        task="trees",
    ),
    "digits": ImagesEntry(
        "handwritten digits of 8 × 8 pixels",
        origin="ships",
        source="Alpaydin & Kaynak 1998",
        fingerprint="0518b788546ad788",
        parameters="rotated",
        brightest=16,
    ),
    "mnist": ImagesEntry(
        "handwritten digits of 28 × 28 pixels", source="LeCun et al. 1998", parameters="SIZE[:rotated]"
    ),
    "fashion": ImagesEntry(
        "clothes of 28 × 28 pixels, 10 kinds", source="Xiao et al. 2017", parameters="SIZE[:rotated]"
    ),
    "planar": _roads("walks on 400 points of a square, joined to their neighbours"),
    "mesh": _roads("walks on a grid of 20 × 20 points with diagonals"),
    "lausanne": _traces("GPS traces of drivers on the roads of Lausanne", "gps/laussane"),
    "geolife": _traces("GPS traces on the roads of Beijing", "gps/geolife", cut_weights=True),
    "wikispeedia": PathsEntry(
        "readers who click from one Wikipedia article to another",
        _READERS,
        source="Cordonnier & Loukas 2019",
        folder="wikispeedia/gretel",
        counted=(5, 7),
        diffusion=_READERS_DIFFUSED,
    ),
    "ogbn-arxiv": _ogb(
        "citations between arXiv papers, 40 subjects",
        "arxiv.zip",
        40,
        directed=True,
        largest=160 * 10**6,
        edges=1335586,
    ),
    "ogbn-products": _ogb(
        "products bought together, 47 categories", "products.zip", 47, directed=False, largest=2800 * 10**6
    ),
    "ogbn-proteins": _ogb(
        "associations between proteins, 112 yes-or-no functions",
        "proteins.zip",
        112,
        directed=False,
        largest=430 * 10**6,
        several_labels=True,
    ),
}

_BY_FILE = {entry.file: entry for entry in DATASETS.values() if isinstance(entry, FileEntry)}
_BY_FOLDER = {entry.folder: entry for entry in DATASETS.values() if isinstance(entry, PathsEntry) and entry.folder}

DIRECTIONS = {":undirected": False, ":directed": True}
"""Behind the name or path of a data set: every edge in both directions, or only as it is listed."""

MEMORY = "memory:"
"""Before the name of a data set that was given from Python: it is in no file, and can only be given again."""


def split_direction(dataset: str) -> tuple[str, bool | None]:
    """A name or path without its suffix of DIRECTIONS, and whether that makes edges directed; None without one."""
    for suffix, directed in DIRECTIONS.items():
        if dataset.endswith(suffix):
            return dataset.removesuffix(suffix), directed
    return dataset, None


def dataset_entry(dataset: str) -> DatasetEntry | None:
    """What is known of a data set, whatever suffix its name has; None for a name of the user's own.

    A path is that of a data set if the file, or the folder and the one above it, are called as the published ones.
    """
    name, _ = split_direction(dataset)
    family = DATASETS.get(name.partition(":")[0])
    if family and (family.parameters or name in DATASETS):
        return family
    return _BY_FILE.get(PurePath(name).name) or _BY_FOLDER.get(PurePath(*PurePath(name).parts[-2:]).as_posix())


def split_name(dataset: str, split: str) -> str:
    """The name of a split, where it may be asked for by its number alone."""
    entry = dataset_entry(dataset)
    numbered = split.isascii() and split.isdecimal() and entry
    return f"{GEOM_GCN}{split}" if numbered and entry.defaults.get("split", "").startswith(GEOM_GCN) else split


def cautions(datasets: Iterable[str]) -> list[str]:
    """What whoever uses these data sets should know, each sentence once."""
    entries = (dataset_entry(dataset) for dataset in datasets)
    return list(dict.fromkeys(entry.caution for entry in entries if entry and entry.caution))
