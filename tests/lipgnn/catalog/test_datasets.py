import csv
import importlib.util
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
