import csv
import importlib.util
from pathlib import Path

import pytest

from lipgnn import catalog
from lipgnn.errors import UsageError
from lipgnn.spec.run import FIELDS, RunSpec


@pytest.mark.parametrize(
    "norm, parts",
    [
        ("none", (None, None)),
        ("lip", ("lip", None)),
        ("pair", (None, "pair")),
        ("lip+layer", ("lip", "layer")),
        ("layer+lip", ("lip", "layer")),
    ],
)
def test_parse_norm(norm, parts):
    assert catalog.parse_norm(norm) == parts


@pytest.mark.parametrize("norm", ["lip+lip", "pair+layer", "lip+pair+batch"])
def test_two_norms_of_one_kind_are_refused(norm):
    with pytest.raises(UsageError, match="two norms of one kind"):
        catalog.parse_norm(norm)


@pytest.mark.parametrize("norm", ["", "lip+", "lipp", "lip+none", "LIP"])
def test_unknown_norms_are_refused_with_the_list(norm):
    with pytest.raises(UsageError) as caught:
        catalog.parse_norm(norm)
    assert all(name in caught.value.hint for name in [*catalog.SCORE_NORMS, *catalog.FEATURE_NORMS])


def test_check_name():
    catalog.check_name("model", "gat", catalog.MODELS)
    with pytest.raises(UsageError, match="'gatt'"):
        catalog.check_name("model", "gatt", catalog.MODELS)


@pytest.mark.parametrize("entries", [catalog.DATASETS, catalog.MODELS], ids=["datasets", "models"])
def test_defaults_of_entries_are_valid_runs(entries):
    for entry in entries.values():
        assert set(entry.defaults) <= set(FIELDS)
    for model, entry in catalog.MODELS.items():
        RunSpec(model=model, **entry.defaults)


def test_attention_models_are_models():
    assert set(catalog.ATTENTION_MODELS) <= set(catalog.MODELS)


@pytest.mark.parametrize(
    "name", [name for name, entry in catalog.DATASETS.items() if isinstance(entry, catalog.OgbEntry)]
)
def test_what_is_said_of_ogb_is_what_ogb_says(name):
    """Against the list that the package ogb carries, read without importing it."""
    (package,) = importlib.util.find_spec("ogb").submodule_search_locations
    header, *rows = csv.reader((Path(package) / "nodeproppred" / "master.csv").read_text().splitlines())
    facts = {row[0]: row[header.index(name)] for row in rows}
    entry, tasks = catalog.DATASETS[name], int(facts["num tasks"])
    assert entry.url == facts["url"]
    assert entry.directed == (facts["add_inverse_edge"] == "False")
    assert entry.several_labels == (facts["eval metric"] == "rocauc")
    assert entry.outputs == (tasks if tasks > 1 else int(facts["num classes"]))


def test_a_suffix_does_not_hide_what_is_known():
    assert catalog.dataset_entry("texas:undirected") is catalog.DATASETS["texas"]
    assert catalog.dataset_entry("my/path.npz") is None
