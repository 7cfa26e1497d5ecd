"""Batches of trees: copies of the tree of the definition, and logits that do not depend on how they are batched."""

import copy

import networkx
import pytest
import torch
from networks import network_of
from toys import TOYS, options_of

from lipgnn.catalog import FEATURE_NORMS, MODELS, NORM_PLACES, SCORE_NORMS
from lipgnn.runtime import dgl
from lipgnn.spec.sources import resolve
from lipgnn.tasks import load
from lipgnn.tasks.batches.trees import TreeBatches

CPU = torch.device("cpu")


@pytest.fixture
def make():
    """Batches of trees and their network, for options of a run."""

    def call(**options):
        spec = resolve({"dataset": "trees:3:20", "batch_size": 32, **options}, {}).spec
        data = load(spec.dataset)
        torch.manual_seed(0)
        network = network_of(spec, data.num_features, data.num_classes)
        return TreeBatches(spec, data, CPU), network, data

    return call


def by_the_book(network, data, items):
    """Logits of the roots from DGL's batch of whole trees, in the numbering of the definition."""
    tree = dgl.graph(tuple(torch.tensor(data.edges)))
    graph = dgl.batch([tree] * len(items))
    features = torch.stack([torch.tensor(table[items.numpy()]).flatten() for table in (data.keys, data.values)])
    roots = torch.arange(len(items)) * tree.num_nodes()
    return network(graph, features)[roots]


# Every layer of the catalog with every score norm it takes, and every feature norm at every place. What the released
# code computes depends on how the nodes are numbered, which is another numbering here.
SCORED = [
    {"model": model, "norm": norm}
    for model, entry in MODELS.items()
    for norm in ["none", *(name for name, score in SCORE_NORMS.items() if entry.attention in score.attention)]
    if norm != "lip-released" and not entry.closed
]
NORMED = [{"norm": f"lip+{norm}", "norm_place": place} for norm in FEATURE_NORMS for place in NORM_PLACES]
# And where work is saved in other ways, or in none.
FURTHER = [
    {"norm": "lip", "kappa": "0.25"},
    {"norm": "lip", "batch_size": "4"},
    {"norm": "lip", "layers": "2"},
    {"norm": "lip", "layers": "6"},
    {"norm": "lip", "mlp": "2x"},
    {"norm": "lip", "stack": "reversible", "norm_place": "branch"},
]


@pytest.mark.parametrize("options", [*SCORED, *NORMED, *FURTHER], ids=lambda options: " ".join(options.values()))
def test_logits_and_gradients_are_those_of_whole_trees_batched_by_dgl(make, options):
    batches, network, data = make(**options)
    twin = copy.deepcopy(network)
    for batch in (next(iter(batches.epoch(1))), batches._batch(torch.tensor([150, 3, 77]))):
        ours = batch.of_items(network(batch.graph, batch.features))
        theirs = by_the_book(twin, data, batch.items)
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)
        labels = batches.labels[batch.items]
        gradients = [
            torch.autograd.grad(
                torch.nn.functional.cross_entropy(logits, labels), list(own.parameters()), allow_unused=True
            )
            for own, logits in ((network, ours), (twin, theirs))
        ]
        for one, other in zip(*gradients, strict=True):
            if one is None or other is None:
                assert one is None or not one.any()
                assert other is None or not other.any()
            else:
                torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize(
    "options, shared, narrow",
    [
        ({"model": "gat", "norm": "lip+layer"}, True, True),
        ({"model": "ggnn"}, True, True),
        ({"model": "gat", "batch_size": 4}, False, True),
        ({"model": "gat", "layers": 5}, False, True),
        ({"model": "gat", "attn_dropout": 0.1}, False, True),
        ({"model": "gcn"}, False, True),
        ({"model": "gin"}, False, False),
        ({"model": "gat", "norm": "pair"}, False, False),
        ({"model": "gat", "norm": "lip+batch"}, False, False),
        ({"model": "gat", "norm": "lip-released"}, False, False),
    ],
)
def test_work_is_saved_where_that_is_exact(make, options, shared, narrow):
    batches, _, _ = make(**options)
    batch = next(iter(batches.epoch(1)))
    assert isinstance(batch.graph, list) == narrow
    assert (narrow and batch.graph[0].rows is not None) == shared


@pytest.mark.parametrize("toy", TOYS)
@pytest.mark.usefixtures("toys")
def test_a_part_that_does_not_say_that_it_is_local_is_computed_on_whole_trees(make, toy):
    for speech, narrow in (("silent", False), ("speaking", True)):
        batches, network, data = make(**options_of(toy, speech))
        batch = next(iter(batches.epoch(1)))
        assert isinstance(batch.graph, list) == narrow
        ours = batch.of_items(network(batch.graph, batch.features))
        torch.testing.assert_close(ours, by_the_book(network, data, batch.items), rtol=1e-4, atol=1e-5)


def test_an_epoch_has_every_training_graph_once_in_an_order_of_its_own(make):
    batches, _, data = make()
    orders = [torch.cat([batch.items for batch in batches.epoch(number)]) for number in (1, 1, 2)]
    assert torch.equal(orders[0], orders[1])
    assert not torch.equal(orders[0], orders[2])
    for order in orders:
        assert order.sort().values.tolist() == data.split.train.nonzero()[0].tolist()


def test_everything_is_everything_in_order(make):
    batches, _, data = make()
    assert torch.cat([batch.items for batch in batches.everything()]).tolist() == list(range(160))
    assert batches.labels.tolist() == data.labels_array.tolist()


def test_graphs_are_made_once_for_every_size(make):
    batches, _, _ = make()
    first, again = ({len(b.items): b.graph for b in batches.epoch(number)} for number in (1, 2))
    assert first.keys() == again.keys()
    for size, hops in first.items():
        assert all(one.graph is other.graph for one, other in zip(hops, again[size], strict=True))


def test_the_whole_graph_is_copies_of_the_tree(make):
    batches, _, data = make(batch_size=3)
    whole = batches.whole()
    graph, features = whole.graph, whole.features
    edges = torch.stack(graph.edges()).T.tolist()
    whole = networkx.DiGraph(edges)
    tree = networkx.DiGraph(data.edges.T.tolist())
    parts = list(networkx.weakly_connected_components(whole))
    assert len(parts) == 3
    for part in parts:
        assert networkx.is_isomorphic(whole.subgraph(part), tree)
    assert features.shape == (2, 45)
    # The roots come first, and have keys and no values.
    assert features[0, :3].tolist() == [1, 2, 3]
    assert features[1, :3].tolist() == [0, 0, 0]


def test_a_batch_larger_than_the_set_is_one_batch(make):
    batches, _, data = make(batch_size=10**6)
    (batch,) = batches.epoch(1)
    assert len(batch.items) == data.split.train.sum()
