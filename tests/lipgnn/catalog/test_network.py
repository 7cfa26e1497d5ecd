import pytest

from lipgnn import catalog
from lipgnn.spec.run import FIELDS
from lipgnn.spec.sources import resolve


@pytest.mark.parametrize("entries", [catalog.DATASETS, catalog.MODELS], ids=["datasets", "models"])
def test_defaults_of_entries_are_valid_runs(entries):
    for entry in entries.values():
        assert set(entry.defaults) <= set(FIELDS)
    for model, entry in catalog.MODELS.items():
        resolve({"model": model, "dataset": "planar" if entry.task == "paths" else "cora"}, {})
