"""What data-parallel steps come to: the tests S3, S4, S5 and S10 of Mem-SGD with real processes."""

import math

import pytest
import torch
from team_jobs import steps, virtual_iterates
from teamwork import together

from lipgnn.spec.run import RunSpec
from lipgnn.tasks import load
from lipgnn.training.state import Training

TREES = {
    **{"dataset": "trees:2", "features": "raw", "layers": 2, "hidden": 2, "heads": 2, "device": "cpu"},
    **{"batch_size": 24, "eval_every": 1000, "norm": "none", "optimizer": "sgd", "lr": 0.05, "residual": "identity"},
    **{"dropout": 0.0, "layer_dropout": 0.0, "weight_decay": 0.0, "layer_weight_decay": "same", "init": "glorot"},
}


def alone(values, epochs):
    spec = RunSpec.from_mapping(values)
    training = Training(spec, load(spec.dataset, features="raw"), torch.device("cpu"))
    for _ in range(epochs):
        training.step()
    return training


@pytest.mark.parametrize(
    "more", [{}, {"optimizer": "adam", "lr": 0.01, "clip": 0.1, "dtype": "float64"}], ids=["sgd", "adam"]
)
def test_dense_workers_take_the_steps_of_one_process(tmp_path, more):
    found = together(2, tmp_path, steps, {**TREES, **more, "eval_every": 3}, 6)
    one = alone({**TREES, **more, "eval_every": 3}, 6)
    for each in found:
        for name, tensor in one.network.state_dict().items():
            torch.testing.assert_close(each["weights"][name], tensor, rtol=0, atol=1e-6)
        assert each["losses"][-1][0] == pytest.approx(one.last.train_loss, abs=1e-6)


def test_all_coordinates_are_the_dense_gradient(tmp_path):
    """S4: k = d sends everything."""
    size = alone(TREES, 0).parameters
    (tmp_path / "all").mkdir()
    sparse, dense = (
        together(2, folder, steps, {**TREES, **more}, 5)[1]["weights"]
        for folder, more in ((tmp_path / "all", {"compress": f"topk:{size}"}), (tmp_path, {}))
    )
    for name, tensor in dense.items():
        torch.testing.assert_close(sparse[name], tensor, rtol=0, atol=1e-6)


@pytest.mark.parametrize("compress", ["topk:3", "randk:3"])
def test_weights_are_the_virtual_ones_and_the_mean_of_memories(tmp_path, compress):
    """S3: x_t − x̃_t = (1/W) Σ_w m_w, where x̃ takes the steps of SGD with all of every gradient.

    S5: no bit of the weights of two workers differs after 400 steps, though their memories do.
    """
    (worst, weights, memory), (other_worst, other_weights, other_memory) = together(
        2, tmp_path, virtual_iterates, compress, 400
    )
    assert max(worst, other_worst) < 1e-12
    assert torch.equal(weights, other_weights)
    assert not torch.equal(memory, other_memory)


@pytest.mark.parametrize("workers", [2, 3])
def test_traffic_is_that_of_the_formulas(tmp_path, workers):
    """S10, with 4 steps an epoch: 76 trees train in batches of 24."""
    size = alone(TREES, 0).parameters
    for number, (compress, bits) in enumerate(
        {
            "topk:7": workers * 7 * (32 + math.ceil(math.log2(size))),
            "randk:7": 32 * 7,
            "none": 32 * size,
        }.items()
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        for found in together(workers, folder, steps, {**TREES, "compress": compress}, 2):
            assert found["bits"] == (8 * bits, 8 * 32 * size)


def test_what_is_not_finite_is_found_by_all_workers_alike(tmp_path):
    """One step of an absurd length, after which nothing is finite: all workers take it back."""
    wild = {**TREES, "lr": 1e6, "eval_every": 1, "activation": "none"}
    first, second = together(2, tmp_path, steps, {**wild, "optimizer": "sgd", "epochs": 60}, 60)
    assert len(first["losses"]) == len(second["losses"]) < 60
    for name, tensor in first["weights"].items():
        assert torch.equal(tensor, second["weights"][name]) and tensor.isfinite().all()
