import collections

import pytest

from lipgnn import catalog
from lipgnn.catalog.entry import load_class
from lipgnn.errors import UsageError


def test_check_name():
    catalog.check_name("model", "gat", catalog.MODELS)
    with pytest.raises(UsageError, match="'gatt'"):
        catalog.check_name("model", "gatt", catalog.MODELS)


def test_a_class_is_imported_when_it_is_asked_for():
    assert catalog.Entry("ordered", implementation="collections:OrderedDict").load() is collections.OrderedDict
    assert load_class("collections:Counter") is collections.Counter
