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


@pytest.mark.parametrize("entries", [catalog.DATASETS, catalog.MODELS], ids=["datasets", "models"])
def test_defaults_of_entries_are_valid_runs(entries):
    for entry in entries.values():
        assert set(entry.defaults) <= set(FIELDS)
    for model, entry in catalog.MODELS.items():
        RunSpec(model=model, **entry.defaults)


def test_attention_models_are_models():
    assert set(catalog.ATTENTION_MODELS) <= set(catalog.MODELS)
