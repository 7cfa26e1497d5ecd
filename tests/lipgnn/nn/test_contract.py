"""What layers say of themselves is true, and what they do not say is taken for the careful case."""

from __future__ import annotations

import copy
import math

import pytest
import torch
from toys import SilentLayer, SpeakingLayer

from lipgnn import catalog
from lipgnn.nn import GATConv, GCNConv, Mlp, TransformerConv
from lipgnn.nn.contract import (
    acts_alike,
    attention_of,
    certified,
    is_local,
    keeps_statistics,
    layer_of,
    maps_of,
    own_skip,
    score_norm_of,
)
from lipgnn.runtime import dgl
from lipgnn.spec.network import NetworkSpec

CASES = [
    (model, norm, "none")
    for model, entry in catalog.MODELS.items()
    if not entry.closed  # they refuse such graphs as these, and have tests of their own
    for norm in ["none", *(name for name, norm in catalog.SCORE_NORMS.items() if entry.attention in norm.attention)]
]
CASES += [("gt", norm, sharing) for norm in ("none", "lip") for sharing in ("collab", "mqa", "gqa:2")]


@pytest.fixture(params=CASES, ids="-".join)
def layer(request, reference):
    """A layer of every kind, with every score norm it takes."""
    model, norm, sharing = request.param
    options = {"hidden": 2, "heads": 2, "residual": "none", "bias": "layers", "kernel": "dgl"}
    spec, entry = NetworkSpec(model=model, norm=norm, head_sharing=sharing, **options), catalog.MODELS[model]
    kind = entry.load() if sharing == "none" else entry.load_shared(sharing.partition(":")[0])
    return reference.redraw(kind.from_spec(spec, 4), seed=1)


def output(layer, graph, x):
    """That of a layer in training, which stays as it is."""
    with torch.no_grad():
        return copy.deepcopy(layer).train()(graph, x).flatten(1)


def test_a_layer_is_local_where_it_says_so_and_nowhere_else(layer, reference):
    graph, x = reference.small_graph(), reference.normal(0, 7, 4)
    whole = output(layer, graph, x)
    beyond = False
    for node in range(7):
        other = x.clone()
        other[node] += 3.0
        changed = (output(layer, graph, other) != whole).any(dim=1)
        reached = {int(target) for target in graph.out_edges(node)[1]} | {node}
        beyond |= not set(changed.nonzero().flatten().tolist()) <= reached
    assert beyond != is_local(layer)


def test_only_what_counts_out_edges_notices_an_edge_that_leaves_a_neighbour(layer, reference):
    if not is_local(layer):
        assert not acts_alike(layer)
        return
    graph, x = reference.build([(0, 0), (1, 1), (2, 2), (0, 1)], nodes=3), reference.normal(0, 3, 4)
    further = dgl.add_edges(graph, torch.tensor([0]), torch.tensor([2]))
    same = torch.equal(output(layer, graph, x)[1], output(layer, further, x)[1])
    assert same == acts_alike(layer)


def test_a_layer_keeps_statistics_where_it_is_another_in_evaluation(layer, reference):
    graph, x = reference.small_graph(), reference.normal(0, 7, 4)
    with torch.no_grad():
        evaluated = layer.eval()(graph, x).flatten(1)
    assert torch.equal(output(layer, graph, x), evaluated) != keeps_statistics(layer)


def test_there_is_a_bound_or_a_reason(layer, reference):
    bound = certified(layer, reference.small_graph())
    assert math.isfinite(bound.value) == (bound.reason is None)


def test_whoever_says_nothing_is_taken_for_the_careful_case(reference):
    layer = SilentLayer(4)
    assert not is_local(layer) and not acts_alike(layer) and keeps_statistics(layer)
    assert (attention_of(layer), own_skip(layer), score_norm_of(layer), list(maps_of(layer))) == (None, None, None, [])
    assert certified(layer, reference.small_graph()).reason == "SilentLayer says no certified bound"


def test_saying_so_changes_it(reference):
    layer = SpeakingLayer(4)
    assert is_local(layer) and acts_alike(layer) and not keeps_statistics(layer)
    assert certified(layer, reference.small_graph()).reason is None


def test_a_layer_with_other_things_called_norm_and_skip_has_neither():
    layer = SilentLayer(4)
    layer.norm, layer.skip = torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 4)
    assert score_norm_of(layer) is None and own_skip(layer) is None


def test_a_subclass_that_computes_something_else_has_to_say_it_again():
    class Global(GCNConv):
        def forward(self, graph, x):
            return super().forward(graph, x) - x.mean(dim=0)

    assert is_local(GCNConv(4, 4)) and not is_local(Global(4, 4))


def test_parts_of_attention_layers_are_found():
    layer = TransformerConv(4, 2, 2, norm="lip")
    assert own_skip(layer) is layer.skip and score_norm_of(layer) is layer.norm
    assert own_skip(TransformerConv(4, 2, 2, skip=False)) is None
    assert own_skip(GATConv(4, 2, 2)) is None and score_norm_of(GATConv(4, 2, 2)) is None


def test_an_mlp_acts_on_every_node_alone():
    mlp = Mlp(4, 8, torch.nn.ELU())
    assert is_local(mlp) and acts_alike(mlp) and not keeps_statistics(mlp)


def test_a_layer_is_told_of_types_and_of_another_width_only_where_there_are_such():
    """One that knows of neither is made as ever."""
    own = NetworkSpec(model="gcn", norm="none", residual="none")
    assert isinstance(layer_of(SilentLayer, own, 4, 1, 5, 4), SilentLayer)
    with pytest.raises(TypeError, match="in_feats"):
        layer_of(SilentLayer, own, 4, 1, 0, 3)


VALUED = [(model, "none") for model in catalog.models_with("value_map")]
VALUED += [("gt", sharing) for sharing in ("collab", "mqa", "gqa:2")]


@pytest.mark.parametrize("model, sharing", VALUED)
def test_a_layer_with_a_map_of_values_leads_from_features_of_any_width(model, sharing, reference):
    """What is zero, and what is multiplied by zero, makes no difference."""
    options = {"hidden": 2, "heads": 2, "residual": "none", "head_sharing": sharing}
    spec, entry = NetworkSpec(model=model, norm="none", **options), catalog.MODELS[model]
    kind = entry.load() if sharing == "none" else entry.load_shared(sharing.partition(":")[0])
    narrow, wide = (reference.redraw(layer_of(kind, spec, 4, 1, in_feats=width), seed=1) for width in (3, 9))
    with torch.no_grad():
        for name, weight in wide.named_parameters():
            own = narrow.get_parameter(name)
            missing = [(0, more - size) for size, more in zip(own.shape, weight.shape, strict=True)]
            weight.copy_(torch.nn.functional.pad(own, [end for pair in reversed(missing) for end in pair]))
    graph, x = reference.small_graph(), reference.normal(0, 7, 3)
    widened = torch.nn.functional.pad(x, (0, 6))
    assert output(narrow, graph, x).shape == narrow.values(x).shape == (7, 4)
    torch.testing.assert_close(output(wide, graph, widened), output(narrow, graph, x))
    torch.testing.assert_close(wide.values(widened), narrow.values(x))
