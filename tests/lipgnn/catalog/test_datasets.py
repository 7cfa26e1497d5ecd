import csv
import importlib.util
import re
from pathlib import Path

import pytest

from lipgnn import catalog


@pytest.mark.parametrize(
    "name", [name for name, entry in catalog.DATASETS.items() if isinstance(entry, catalog.OgbEntry)]
)
def test_what_is_said_of_ogb_is_what_ogb_says(name):
    """Against the list that the package ogb carries, read without importing it."""
    (package,) = importlib.util.find_spec("ogb").submodule_search_locations
    header, *rows = csv.reader((Path(package) / "nodeproppred" / "master.csv").read_text().splitlines())
    facts = {row[0]: row[header.index(name)] for row in rows}
    entry, tasks = catalog.DATASETS[name], int(facts["num tasks"])
    # The same file, but encrypted on its way.
    assert entry.url == facts["url"].replace("http://", "https://", 1)
    assert 10**8 < entry.largest < 10**10
    assert entry.directed == (facts["add_inverse_edge"] == "False")
    assert entry.several_labels == (facts["eval metric"] == "rocauc")
    assert entry.outputs == (tasks if tasks > 1 else int(facts["num classes"]))


def test_a_suffix_does_not_hide_what_is_known():
    assert catalog.dataset_entry("texas:undirected") is catalog.DATASETS["texas"]
    assert catalog.dataset_entry("my/path.npz") is None


def test_a_published_file_is_known_by_its_name_wherever_it_lies():
    assert catalog.dataset_entry("/some/where/roman_empire.npz") is catalog.DATASETS["roman-empire"]
    assert catalog.dataset_entry("ms_academic_cs.npz:undirected") is catalog.DATASETS["coauthor-cs"]
    assert catalog.dataset_entry("minesweeper:50:3") is catalog.DATASETS["minesweeper"]
    assert catalog.dataset_entry("cora:50") is None and catalog.dataset_entry("trees:3") is None


def test_a_published_folder_is_known_by_its_name_and_that_of_the_one_above():
    assert catalog.dataset_entry("/some/where/gps/laussane") is catalog.DATASETS["lausanne"]
    assert catalog.dataset_entry("wikispeedia/gretel/") is catalog.DATASETS["wikispeedia"]
    assert catalog.dataset_entry("/some/where/laussane") is None and catalog.dataset_entry("gretel") is None
    assert catalog.dataset_entry("planar:900") is catalog.DATASETS["planar"]


FILES = {name: entry for name, entry in catalog.DATASETS.items() if isinstance(entry, catalog.FileEntry)}


def test_files_have_their_addresses_and_hashes():
    heterophilous = {name: entry for name, entry in FILES.items() if entry.folder == "heterophilous"}
    assert len(heterophilous) == 8 and len(FILES) == 12
    for name, entry in heterophilous.items():
        assert entry.file == f"{name.replace('-', '_')}.npz"
        assert entry.url.startswith("https://raw.githubusercontent.com/yandex-research/heterophilous-graphs/main/data/")
        assert {"split": "0", "features": "raw"}.items() <= entry.defaults.items()
    for entry in FILES.values():
        assert entry.sha256 is None or re.fullmatch("[0-9a-f]{64}", entry.sha256)
        assert 10**6 < entry.largest < 10**9
    # Facts of Platonov et al. 2023: nodes and undirected edges; every node has a self-loop.
    published = {
        "minesweeper": (10000, 39402),
        "roman-empire": (22662, 32927),
        "amazon-ratings": (24492, 93050),
        "tolokers": (11758, 519000),
        "questions": (48921, 153540),
    }
    for name, (nodes, edges) in published.items():
        assert FILES[name].edges == nodes + 2 * edges
    assert sorted(name for name in FILES if "metric" in FILES[name].defaults) == [
        "minesweeper",
        "questions",
        "tolokers",
    ]


def test_duplicates_are_warned_of_once():
    told = catalog.cautions(["cora", "chameleon", "chameleon:undirected", "squirrel", "texas", "my.npz"])
    assert len(told) == 2
    assert "'chameleon-filtered'" in told[0] and "'squirrel-filtered'" in told[1]
    assert catalog.cautions(["chameleon-filtered", "minesweeper"]) == []


def test_splits_of_geom_gcn_may_be_asked_for_by_number():
    assert catalog.split_name("chameleon", "3") == "geom-gcn:3"
    assert catalog.split_name("chameleon:undirected", "3") == "geom-gcn:3"
    for dataset, split in (
        ("minesweeper", "3"),
        ("cora", "3"),
        ("chameleon", "random:1"),
        ("x.npz", "3"),
        ("texas", "٣"),
    ):
        assert catalog.split_name(dataset, split) == split
