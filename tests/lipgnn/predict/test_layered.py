import pytest
import torch

from lipgnn.errors import UsageError
from lipgnn.predict.layered import logits_in_parts
from lipgnn.runtime import EDGE_TYPE
from lipgnn.tasks import find_task


@pytest.mark.parametrize("size", [1000, 400, 133, 7])
@pytest.mark.parametrize(
    "options",
    [
        {"layers": 3},
        {"layers": 3, "residual": "initial", "model": "gt"},
        {"layers": 2, "jk": "concat", "norm": "lip+layer"},
        {"layers": 3, "encoder": "none", "residual": "linear", "norm": "lip+layer"},
        {"layers": 2, "model": "sage", "norm": "none", "residual": "linear", "dtype": "float64"},
    ],
    ids=lambda options: "-".join(map(str, options.values())),
)
def test_parts_come_to_the_same_as_the_whole(model_of, options, size):
    saved, data = model_of(**options)
    features = data.features.to(getattr(torch, saved.spec.dtype))
    with torch.no_grad():
        whole = saved.network(data.graph, features)
    found = logits_in_parts(saved.network, data.graph, features, size)
    torch.testing.assert_close(found, whole)


def test_types_of_edges_are_kept(model_of):
    saved, data = model_of(model="gt", layers=2)
    types = torch.arange(data.graph.num_edges()) % 2
    sources, targets = data.graph.edges()
    data.graph.edata[EDGE_TYPE] = torch.where(sources == targets, 2, types)
    network = find_task("nodes").network(saved.spec, *data.shape, 3).eval()
    with torch.no_grad():
        for block in network.blocks:
            block.conv.edge_type.normal_(generator=torch.Generator().manual_seed(0))
        whole = network(data.graph, data.features)
    torch.testing.assert_close(logits_in_parts(network, data.graph, data.features, 50), whole)
    data.graph.edata[EDGE_TYPE] = torch.zeros_like(types)
    assert (logits_in_parts(network, data.graph, data.features, 50) - whole).abs().max() > 1e-4


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"norm": "lip+pair"}, "PairNorm looks at more"),
        ({"model": "gcn", "norm": "none"}, "looks at more"),
        ({"stack": "reversible"}, "reversible stack"),
    ],
)
def test_what_cannot_be_cut_is_refused(model_of, options, words):
    saved, data = model_of(**options)
    with pytest.raises(UsageError, match=words):
        logits_in_parts(saved.network, data.graph, data.features, 50)
