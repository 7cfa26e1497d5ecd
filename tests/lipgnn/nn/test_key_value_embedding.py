import torch

from lipgnn.nn import KeyValueEmbedding


def test_is_a_linear_map_of_two_one_hot_vectors():
    layer = KeyValueEmbedding(5, 3)
    x = torch.tensor([[0, 4, 2, 4], [1, 0, 3, 3]], dtype=torch.int32)
    hot = torch.nn.functional.one_hot(x.long(), 5).float()  # (2, N, 5)
    expected = hot[0] @ layer.key.weight + hot[1] @ layer.value.weight
    torch.testing.assert_close(layer(x), expected)


def test_dropout_acts_in_training_alone():
    layer = KeyValueEmbedding(2, 1000, 0.5)
    x = torch.zeros(2, 1, dtype=torch.int32)
    assert 300 < (layer(x) == 0).sum() < 700
    assert (layer.eval()(x) != 0).all()
