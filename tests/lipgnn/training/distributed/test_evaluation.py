import pytest
import torch
from team_jobs import evaluated
from teamwork import together

SMALL = {"hidden": 2, "heads": 2, "device": "cpu", "dtype": "float64"}
NODES = {"dataset": "planted", "layers": 3, "batch_size": 8, **SMALL}


@pytest.mark.parametrize(
    "values",
    [
        {**NODES, "norm": "lip+batch"},
        {**NODES, "jk": "concat", "residual": "initial"},
        {**NODES, "model": "gcn", "norm": "none"},
        {**NODES, "encoder": "none", "encoder_activation": "none", "residual": "linear"},
        {**NODES, "norm": "pair"},
        {"dataset": "trees:2", "features": "raw", "layers": 3, "batch_size": 50, **SMALL},
    ],
    ids=["layer by layer", "all layers joined", "out-edges", "no encoder", "over nodes", "batches"],
)
def test_outputs_that_are_computed_together_are_those_of_one_process(tmp_path, values):
    for divided, alone in together(3, tmp_path, evaluated, values):
        torch.testing.assert_close(divided, alone, rtol=1e-12, atol=1e-12)
