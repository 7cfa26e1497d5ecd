"""What is cut out of a graph for windows must be enough."""

import pytest
import torch

from lipgnn.spec.sources import resolve
from lipgnn.tasks import find_task, load
from lipgnn.tasks.batches import logits_of, surroundings
from lipgnn.tasks.batches.windows import WindowBatches

CPU = torch.device("cpu")


def made_of(**options):
    given = {"dataset": "planar:200", "layers": 2, "hidden": 2, "heads": 2, "dtype": "float64", **options}
    spec = resolve(given, {}).spec
    dataset = load(spec.dataset, split=spec.split, features=spec.features)
    torch.manual_seed(0)
    return spec, dataset, find_task("paths").network(spec, *dataset.shape).eval()


@pytest.mark.parametrize("directions", ["forward", "both"])
@pytest.mark.parametrize(
    "model, norm", [("gat", "none"), ("gat", "layer"), ("gatv2", "none"), ("gt", "none"), ("sage", "none")]
)
def test_parts_of_the_graph_give_what_the_whole_graph_gives(model, norm, directions, monkeypatch):
    spec, dataset, network = made_of(model=model, norm=norm, directions=directions)
    cut = WindowBatches(spec, dataset, CPU)
    monkeypatch.setattr(surroundings, "_can_be_cut", lambda spec: False)
    whole = WindowBatches(spec, dataset, CPU)
    for some, every in (
        (next(cut.epoch(1)), next(whole.epoch(1))),
        (next(cut.everything()), next(whole.everything())),
    ):
        assert some.graph.layers.num_nodes() < every.graph.layers.num_nodes()
        assert every.graph.layers.num_nodes() == dataset.num_nodes * len(every.items)
        torch.testing.assert_close(
            network(some.graph, some.features), network(every.graph, every.features), rtol=1e-12, atol=1e-12
        )


@pytest.mark.parametrize(
    "options", [{"model": "gcn"}, {"model": "gat", "norm": "batch"}, {"model": "gat", "norm": "pair"}]
)
def test_what_looks_at_more_than_in_neighbours_has_the_whole_graph(options):
    spec, dataset, _ = made_of(**options)
    batch = next(WindowBatches(spec, dataset, CPU).epoch(1))
    assert batch.graph.layers.num_nodes() == dataset.num_nodes * len(batch.items)


def test_every_node_of_an_encoder_has_one_self_loop():
    spec, dataset, _ = made_of(model="gat")
    sources, targets = next(WindowBatches(spec, dataset, CPU).epoch(1)).graph.layers.edges()
    loops = sources[sources == targets]
    assert loops.sort().values.tolist() == list(range(int(loops.max()) + 1))


def test_a_table_and_diffusion_on_the_way_are_the_same(monkeypatch):
    spec, dataset, network = made_of(model="diffusion", directions="both")
    looked_up = logits_of(network, WindowBatches(spec, dataset, CPU))
    monkeypatch.setattr(surroundings, "_LARGEST_TABLE", 0)
    batches = WindowBatches(spec, dataset, CPU)
    assert batches._roads.table is None
    torch.testing.assert_close(logits_of(network, batches), looked_up)


def test_observations_that_are_alike_are_diffused_once():
    spec, dataset, _ = made_of(model="diffusion")
    table = WindowBatches(spec, dataset, CPU)._roads.table
    rows = {(*n, *w) for n, w in zip(dataset.observed_nodes.tolist(), dataset.observed_weights.tolist(), strict=True)}
    assert table.shape == (dataset.num_nodes, len(rows))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("options", [{"model": "diffusion", "transitions": "learned"}, {"model": "gat"}], ids=str)
def test_gradients_are_the_same_every_time(options, threads):
    spec, dataset, network = made_of(**options, batch_size=20, dtype="float32")
    batch = next(WindowBatches(spec, dataset, CPU).epoch(1))
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        found = []
        for _ in range(4):
            network.zero_grad()
            network(batch.graph, batch.features).sum().backward()
            found.append([weight.grad.clone() for weight in network.parameters()])
    finally:
        torch.set_num_threads(before)
    for other in found[1:]:
        assert all(torch.equal(a, b) for a, b in zip(found[0], other, strict=True))
