"""The balanced start: mirrored maps, lengths in balance, a network that starts linear, and what gradients keep."""

import math
from itertools import pairwise

import numpy as np
import pytest
import torch
from networks import bare

from lipgnn.nn.balanced import lengthen_, mirror_
from lipgnn.nn.contract import score_weights_of

OPTIONS = {"init": "balanced", "activation": "relu", "encoder_activation": "relu", "layers": 4, "hidden": 4, "heads": 3}
WIDTH = 12


def signs(heads: int, width: int = WIDTH) -> np.ndarray:
    """+1 for the first half of every head, −1 for the second."""
    half = width // heads // 2
    return np.tile(np.repeat([1.0, -1.0], half), heads)


def positive(heads: int) -> np.ndarray:
    return np.flatnonzero(signs(heads) > 0)


def made(**options):
    torch.manual_seed(0)
    return bare(5, 3, **{**OPTIONS, **options}).double().eval()


@pytest.mark.parametrize("heads", [1, 3])
def test_a_map_between_pairs_is_an_orthogonal_one_four_times(heads):
    torch.manual_seed(0)
    weight = torch.empty(WIDTH, WIDTH, dtype=torch.float64)
    mirror_(weight, rows=heads, columns=heads)
    weight = weight.numpy()
    chosen = positive(heads)
    u = weight[np.ix_(chosen, chosen)]
    np.testing.assert_allclose(u @ u.T, np.eye(WIDTH // 2), atol=1e-12)
    for rows in (chosen, chosen + WIDTH // heads // 2):
        for columns in (chosen, chosen + WIDTH // heads // 2):
            sign = signs(heads)[rows[0]] * signs(heads)[columns[0]]
            np.testing.assert_allclose(weight[np.ix_(rows, columns)], sign * u, atol=0)
    np.testing.assert_allclose(np.linalg.norm(weight, axis=0) ** 2, 2, rtol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(weight, axis=1) ** 2, 2, rtol=1e-12)
    assert np.linalg.norm(weight, 2) == pytest.approx(2, rel=1e-12)


def test_lengths_of_rows_and_of_columns(reference):
    for dim in (0, 1):
        weight = reference.normal(0, 4, 3)
        direction = weight / weight.norm(dim=dim, keepdim=True)
        lengthen_(weight, 1.5, dim=dim)
        torch.testing.assert_close(weight, 1.5 * direction)


@pytest.mark.parametrize("model", ["gat", "gcn"])
def test_rows_are_as_long_as_the_columns_that_read_them(model):
    network = made(model=model)
    maps = [network.encoder.weight, *(block.conv.value_map.weight for block in network.blocks), network.decoder.weight]
    for before, after in pairwise(maps):
        of_rows, of_columns = before.detach().norm(dim=1), after.detach().norm(dim=0)
        np.testing.assert_allclose(of_rows**2, 2, rtol=1e-6)  # drawn in float32
        np.testing.assert_allclose(of_columns**2, 2, rtol=1e-6)
    assert all(not parameter.any() for block in network.blocks for parameter in score_weights_of(block.conv))
    assert not network.encoder.bias.any() and not network.decoder.bias.any()


def halved(network, heads=3):
    """U of the encoder, of every layer and of the decoder, read off the positive halves."""
    chosen = positive(heads)
    encoder = network.encoder.weight.detach().numpy()[chosen]
    layers = [block.conv.value_map.weight.detach().numpy() for block in network.blocks]
    return encoder, [w[np.ix_(chosen, chosen)] for w in layers], network.decoder.weight.detach().numpy()[:, chosen]


def mean_over_neighbours(reference, graph):
    matrix = np.zeros((graph.num_nodes(), graph.num_nodes()))
    for j, i in reference.edges_of(graph):
        matrix[i, j] += 1
    return matrix / matrix.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("model, norm", [("gat", "none"), ("gat", "lip"), ("gatv2", "none")])
@pytest.mark.parametrize("residual, encoder", [("none", "relu"), ("identity", "none"), ("scaled", "none")])
def test_the_network_starts_as_the_linear_chain_of_its_halves(residual, encoder, model, norm, reference):
    graph, x = reference.small_graph(), reference.normal(0, 7, 5)
    network = made(model=model, residual=residual, encoder_activation=encoder, norm=norm)
    first, layers, last = halved(network)
    v = x.numpy() @ first.T * (1 if residual == "none" else 2)
    scale = {"none": 1.0, "identity": 1.0, "scaled": 0.5}[residual]
    weights = [w.numpy() for w in network.attention(graph, x)]
    for u, attention in zip(layers, weights, strict=True):
        mapped, heads = v @ u.T, []
        for h in range(3):
            matrix = np.zeros((7, 7))
            for e, (j, i) in enumerate(reference.edges_of(graph)):
                matrix[i, j] += attention[e, h]
            if norm == "none":
                np.testing.assert_allclose(matrix, mean_over_neighbours(reference, graph), atol=1e-12)
            heads.append(matrix @ mapped[:, 2 * h : 2 * h + 2])
        v = (0 if residual == "none" else v) + scale * np.concatenate(heads, axis=1)
    np.testing.assert_allclose(network(graph, x).detach(), v @ last.T, rtol=1e-6, atol=1e-6)


def test_a_linear_network_doubles_with_its_input_and_is_odd(reference):
    graph, x = reference.small_graph(), reference.normal(0, 7, 5)
    network = made(model="gcn")
    torch.testing.assert_close(network(graph, -2 * x), -2 * network(graph, x), rtol=1e-6, atol=1e-6)
    other = bare(5, 3, **{**OPTIONS, "init": "glorot"}).double().eval()
    assert not torch.allclose(other(graph, -2 * x), -2 * other(graph, x), rtol=1e-3, atol=1e-3)


def test_a_score_norm_keeps_the_vectors_of_attention_as_they_were_drawn():
    network = made(norm="lip")
    assert all(parameter.all() for block in network.blocks for parameter in block.conv.score_weights)


def test_what_gradient_flow_keeps_is_kept(reference):
    """⟨W^l[i,:], ∇⟩ = ⟨W^{l+1}[:,i], ∇⟩ + a_i·∇a_i of every channel, wherever the weights are."""
    network = made(bias="none")
    with torch.no_grad():
        for position, parameter in enumerate(network.blocks.parameters()):
            parameter.add_(0.3 * reference.normal(position, *parameter.shape))
    logits = network(reference.small_graph(), reference.normal(0, 7, 5))
    torch.nn.functional.cross_entropy(logits, torch.arange(7) % 3).backward()
    for block, after in pairwise(network.blocks):
        conv, following = block.conv, after.conv.fc
        of_rows = (conv.fc.weight * conv.fc.weight.grad).sum(dim=1)
        of_columns = (following.weight * following.weight.grad).sum(dim=0)
        of_scores = sum((parameter * parameter.grad).flatten() for parameter in (conv.attn_l, conv.attn_r))
        torch.testing.assert_close(of_rows, of_columns + of_scores, rtol=1e-10, atol=1e-12)


def test_deep_gradients_neither_vanish_nor_explode(reference):
    graph, x = reference.small_graph(), reference.normal(0, 7, 5)
    sizes = {}
    for init in ("balanced", "glorot"):
        network = made(init=init, layers=40)
        torch.nn.functional.cross_entropy(network(graph, x), torch.arange(7) % 3).backward()
        sizes[init] = network.blocks[0].conv.fc.weight.grad.norm().item()
    assert 1e-2 < sizes["balanced"] < 1e2
    assert not 1e-2 < sizes["glorot"] < 1e2
    assert math.isfinite(sizes["balanced"])
