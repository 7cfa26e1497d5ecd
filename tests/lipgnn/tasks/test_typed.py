"""Who looks at the types of edges, and who is told that they are not looked at."""

from types import SimpleNamespace

import pytest

from lipgnn.spec.run import RunSpec
from lipgnn.tasks.typed import tells_types_apart, unused_types

TYPED, PLAIN = SimpleNamespace(name="roads", shape=(5, 3, 4)), SimpleNamespace(name="roads", shape=(5, 3))


def test_gt_tells_types_apart_and_has_nothing_to_be_told():
    spec = RunSpec(model="gt")
    assert tells_types_apart(spec) and unused_types(spec, TYPED) is None


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"model": "gat"}, "layers of 'gat' do not tell apart; --model gt does."),
        ({"model": "gcn", "norm": "none"}, "layers of 'gcn' do not tell apart; --model gt does."),
        (
            {"model": "gt", "head_sharing": "mqa"},
            "layers of 'gt' that share heads (mqa) do not tell apart; --head-sharing none does.",
        ),
    ],
)
def test_others_are_told_where_there_are_types(options, said):
    spec = RunSpec(**options)
    assert unused_types(spec, TYPED) == f"Edges of 'roads' have types, which {said}"
    assert unused_types(spec, PLAIN) is None
