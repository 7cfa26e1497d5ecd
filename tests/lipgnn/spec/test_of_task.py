"""Networks that the task of a data set cannot have: each is refused with what to do, and others are not."""

import pytest

from lipgnn.errors import UsageError
from lipgnn.spec.run import RunSpec


def test_a_layer_of_one_task_is_for_its_data_alone():
    options = {"norm": "none", "residual": "none", "bias": "layers", "activation": "none", "encoder_activation": "none"}
    options |= {"model": "diffusion", "layer_dropout": 0.0}
    assert RunSpec(dataset="planar", features="raw", **options).model == "diffusion"
    with pytest.raises(UsageError, match="Model 'diffusion' is of task paths, and data set 'cora' is of nodes"):
        RunSpec(dataset="cora", **options)


@pytest.mark.parametrize("dataset, own", [("trees:3", "trees"), ("planar", "paths"), ("digits", "images")])
def test_no_layers_are_for_nodes_alone(dataset, own):
    assert RunSpec(dataset="cora", model="gt", layers=0).layers == 0
    with pytest.raises(UsageError, match=f"no layers maps features of nodes.*'{dataset}' is of {own}") as caught:
        RunSpec(dataset=dataset, features="raw", model="gt", layers=0)
    assert caught.value.hint == "Use --layers 1 or more."


@pytest.mark.parametrize("dataset, own", [("trees:3", "trees"), ("planar", "paths"), ("digits", "images")])
def test_tasks_with_encoders_of_their_own_cannot_be_without(dataset, own):
    options = {"dataset": dataset, "features": "raw", "model": "gt", "residual": "linear", "encoder_activation": "none"}
    RunSpec(**options)
    with pytest.raises(UsageError, match=f"data set '{dataset}', of {own}, needs its encoder") as caught:
        RunSpec(**options, encoder="none")
    assert caught.value.hint == "Use --encoder linear."
