import collections

import pytest

from lipgnn import catalog
from lipgnn.catalog import Entry
from lipgnn.errors import UsageError


def test_check_name():
    catalog.check_name("model", "gat", catalog.MODELS)
    with pytest.raises(UsageError, match="'gatt'"):
        catalog.check_name("model", "gatt", catalog.MODELS)


def test_an_entry_leads_to_its_class():
    assert Entry("ordered", implementation="collections:OrderedDict").load() is collections.OrderedDict


@pytest.mark.parametrize("name", ["FEATURE_NORMS", "MODELS", "TASKS"])
def test_every_implementation_is_there(name):
    for entry in getattr(catalog, name).values():
        assert isinstance(entry.load(), type)
