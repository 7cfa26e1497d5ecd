import pytest

from lipgnn.spec.run import RunSpec
from lipgnn.tasks import find_task
from lipgnn.training.distributed.caution import own_statistics

NODES = {"dataset": "planted", "batch_size": 8, "layers": 2}
TREES = {"dataset": "trees:2", "features": "raw", "layers": 2, "init": "glorot"}


@pytest.mark.parametrize(
    "values, who",
    [
        ({**NODES, "norm": "lip+batch"}, None),
        ({**NODES, "norm": "lip+layer"}, None),
        ({**NODES, "norm": "pair"}, "PairNorm"),
        ({**NODES, "norm": "graph"}, "GraphNorm"),
        ({**NODES, "model": "gcn", "norm": "none"}, "GCN"),
        ({**TREES, "norm": "graph"}, None),
        ({**TREES, "norm": "pair"}, "PairNorm"),
        ({**TREES, "model": "gin", "norm": "none", "residual": "identity"}, None),
    ],
)
def test_a_caution_is_of_what_sees_the_nodes_of_a_batch(values, who):
    spec = RunSpec(**values, workers=2)
    task = find_task("trees" if values["dataset"] == "trees:2" else "nodes")
    found = own_statistics(spec, task)
    assert (who in found) if who else found is None
    assert own_statistics(spec.with_values(workers=1), task) is None
