"""Kinds of layers by name, and that their entries say what their classes say."""

import pytest

from lipgnn import catalog
from lipgnn.nn.contract import attention_of, maps_of, own_skip, value_map_of
from lipgnn.norms.contract import said
from lipgnn.spec.sources import resolve

FORMS = [(model, "none") for model in catalog.layers_for("nodes")]
FORMS += [("gt", "collab"), ("gt", "mqa"), ("gt", "gqa:2")]


@pytest.fixture(params=FORMS, ids=" ".join)
def entry_and_layer(request):
    model, sharing = request.param
    entry = catalog.MODELS[model]
    small = {"norm": "none", "hidden": 2, "heads": 2, "skip": "own"}
    spec = resolve({"model": model, "head_sharing": sharing, **small}, {}).spec
    kind = entry.load() if sharing == "none" else entry.load_shared(sharing.partition(":")[0])
    return entry, kind.from_spec(spec, spec.width)


def test_what_an_entry_says_of_a_layer_is_what_its_class_says(entry_and_layer):
    entry, layer = entry_and_layer
    assert attention_of(layer) in (entry.attention, catalog.SHARED_PRODUCT)
    assert bool(maps_of(layer)) == entry.linear_maps
    assert (value_map_of(layer) is not None) == entry.value_map
    assert (own_skip(layer) is not None) == entry.linear_skip
    # Heads that share keys have no codes of their own.
    assert said(layer, "typed_edges", False) == (entry.typed_edges and isinstance(layer, entry.load()))


def test_the_map_of_values_is_one_of_the_maps(entry_and_layer):
    entry, layer = entry_and_layer
    if entry.value_map:
        assert layer.value_map.module in [linear.module for linear in layer.maps]


def test_every_layer_of_ours_says_how_far_it_looks_and_whether_it_is_certified(entry_and_layer):
    _, layer = entry_and_layer
    silent = object()
    facts = ["local", "counts_out_edges", "keeps_statistics", "certified"]
    assert silent not in [said(layer, fact, silent) for fact in facts]


def test_an_entry_that_says_nothing_has_nothing():
    entry = catalog.LayerEntry("a layer")
    assert (entry.attention, entry.linear_maps, entry.value_map, entry.linear_skip) == (None, False, False, False)
    assert not entry.closed and not entry.typed_edges and not entry.shared


def test_models_with():
    assert catalog.models_with("attention") == ["gat", "gatv2", "gat-sep", "gt"]
    assert catalog.models_with("value_map") == ["gat", "gatv2", "gt", "gcn", "sage"]
    assert catalog.models_with("linear_maps") == ["gat", "gatv2", "gat-sep", "gt", "gcn", "sage", "gin"]
    assert catalog.models_with("linear_skip") == ["gt", "sage"]
    assert catalog.models_with("typed_edges") == ["gt"]
    assert catalog.models_with("closed") == ["aero", "diffusion"]
    assert catalog.models_with("shared") == ["gt"]
