import pytest
import torch

from lipgnn.bench.gemm import products, replay
from lipgnn.bench.graphs import GraphChoice
from lipgnn.bench.train import epoch, spec_for


@pytest.mark.parametrize(
    "options, count",
    [
        # Forward, two backward and the evaluation, for every layer and the decoder; Planted has dense features, and
        # the first gradient of the encoder's input is nobody's.
        ({"model": "gat"}, 3 * 4 + 4 + 3),
        ({"model": "gt"}, 3 * 4 * 4 + 4 + 3),
    ],
)
def test_an_epoch_has_the_products_of_its_linear_maps(options, count):
    choice = GraphChoice("planted")
    spec = spec_for(choice, layers=3, heads=2, hidden=4, kernel="dgl", residual="scaled", **options)
    assert len(products(epoch(spec, choice.training_data(spec)))) == count


def test_sparse_features_are_left_out():
    choice = GraphChoice("cora")
    spec = spec_for(choice, layers=1, heads=2, hidden=4, kernel="dgl", residual="scaled")
    assert len(products(epoch(spec, choice.training_data(spec)))) == 4 + 4


def test_the_replay_has_the_shapes_and_orders_of_the_computation():
    a, b = torch.randn(3, 4), torch.randn(5, 4)
    found = products(lambda: (a @ b.t(), torch.relu(a), a * 2))
    ((func, (left, right)),) = products(replay(found))
    assert func is torch.ops.aten.mm.default
    assert (left.shape, right.shape, right.stride()) == ((3, 4), (4, 5), (1, 4))


def test_operands_of_one_form_are_one_array():
    a, b = torch.randn(3, 3), torch.randn(3, 3)
    ((_, (left, right)),) = products(lambda: a @ b)
    assert left is right and not torch.equal(left, a)
