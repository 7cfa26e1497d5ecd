"""What is proved of deep networks, seen in ours: how gradients shrink and grow, and how attention loses rank.

Each test names its statement: P and T of gradients (Park & Kim 2024, and what follows from it), R of rank collapse
(Dong, Cordonnier & Loukas 2021, and its form on graphs). A GCN without activation is the linear network of the
theorems, X ← Â X W, and with residual identity its residual form, X ← X + Â X W; G^ℓ is the gradient at X^ℓ. R1 is in
test_measures.py, R2 and R9 in test_paths.py, R7 in test_path_choice.py, and T5 with the weight norms.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from networks import bare
from torch import nn

from lipgnn.diagnose.paths import path_shares
from lipgnn.measures import features as measures
from lipgnn.measures.features import length, rank_one_residual, similarity
from lipgnn.measures.walk import component_count, components, second_eigenvalue
from lipgnn.nn import GATConv, TransformerConv
from lipgnn.nn.spread import spread_of

# Of slope at most one; GELU has 1.13.
LIPSCHITZ = ["none", "relu", "leaky-relu", "elu", "tanh"]


def both_ways(pairs, nodes):
    """Edges in either direction, and a loop at every node."""
    return pairs + [(j, i) for i, j in pairs] + [(i, i) for i in range(nodes)]


def circulant(nodes, steps):
    """A regular graph: every node with those so many steps on."""
    return both_ways([(i, (i + step) % nodes) for i in range(nodes) for step in steps], nodes)


def complete(nodes, first=0):
    return [(first + j, first + i) for i in range(nodes) for j in range(nodes)]


# Connected, with degrees from two to five, loops included.
IRREGULAR = both_ways([(0, 1), (1, 2), (2, 3), (3, 4), (4, 2), (4, 5), (2, 5), (5, 6)], 7)


def convolution(edges, nodes):
    """Â of GCN, dense: 1/√(d_i d_j) for every edge j → i."""
    matrix = np.zeros((nodes, nodes))
    for j, i in edges:
        matrix[i, j] += 1
    return matrix / np.sqrt(np.outer(matrix.sum(axis=1), matrix.sum(axis=0)))


def gcn(reference, **options):
    """Four features, three classes, width 5, in float64, weights of the usual size."""
    torch.manual_seed(0)
    return bare(4, 3, **{"model": "gcn", "layers": 4, "hidden": 5, "heads": 1, "activation": "none"} | options).double()


def gradients(deep, graph, x):
    """Features X⁰ … X^L and the gradients there of the classification loss."""
    features = [deep.encoder(x)]
    for block in deep.blocks:
        features.append(block(graph, features[-1]))
    loss = nn.functional.cross_entropy(deep.decoder(features[-1]), torch.arange(len(x)) % deep.decoder.out_features)
    return [value.detach() for value in features], torch.autograd.grad(loss, features)


def spectral(deep):
    """‖W‖₂ of every layer."""
    return [np.linalg.norm(block.conv.weight.detach().numpy(), 2) for block in deep.blocks]


def factors(found):
    """From layer to layer, backwards: how often the number at the input is that at the output."""
    return [(before / after).item() for before, after in itertools.pairwise(found)]


@pytest.mark.parametrize("residual", ["none", "identity"])
def test_on_a_regular_graph_gradients_become_alike_as_fast_as_the_walk(residual, reference):
    """P1, P2, T1: μ(G^ℓ) ≤ λ₂‖W‖₂ μ(G^{ℓ+1}), and (1 + λ₂‖W‖₂) with a residual."""
    edges = circulant(24, (1, 2, 5))
    graph, deep = reference.build(edges, nodes=24), gcn(reference, residual=residual)
    walk = np.sort(abs(np.linalg.eigvalsh(convolution(edges, 24))))[-2]
    assert walk == pytest.approx(0.7402, abs=5e-5) and second_eigenvalue(graph) == pytest.approx(walk)
    found = factors([similarity(g) for g in gradients(deep, graph, reference.normal(0, 24, 4))[1]])
    for factor, size in zip(found, spectral(deep), strict=True):
        assert factor <= (residual == "identity") + walk * size


@pytest.mark.parametrize("residual", ["none", "identity"])
def test_the_slowest_direction_of_the_walk_attains_the_bound(residual, reference):
    """P1, P2 are sharp: for the gradient v uᵀ, v an eigenvector of λ₂ and u the map's own direction."""
    edges = circulant(24, (1, 2, 5))
    graph, deep = reference.build(edges, nodes=24), gcn(reference, residual=residual, layers=1)
    values, vectors = np.linalg.eigh(convolution(edges, 24))
    slowest = np.argsort(abs(values))[-2]
    size, direction = 2.0, reference.normal(1, 5) / length(reference.normal(1, 5))
    with torch.no_grad():
        # One direction alone, in which the residual and the layer agree.
        deep.blocks[0].conv.weight.copy_(size * math.copysign(1, values[slowest]) * torch.outer(direction, direction))
    gradient = torch.outer(torch.from_numpy(vectors[:, slowest].copy()), direction)
    x = reference.normal(0, 24, 5).requires_grad_()
    (before,) = torch.autograd.grad(deep.blocks[0](graph, x), x, gradient)
    expected = (residual == "identity") + abs(values[slowest]) * size
    assert (similarity(before) / similarity(gradient)).item() == pytest.approx(expected)


def test_on_any_graph_it_is_the_roots_of_the_degrees_that_all_gradients_come_to(reference):
    """P3: the bound of P1 with ‖(I − vvᵀ)G‖_F, v ∝ D^½1; plain μ is not bounded by itself there."""
    graph, deep = reference.build(IRREGULAR, nodes=7), gcn(reference)
    matrix = convolution(IRREGULAR, 7)
    root = graph.in_degrees().double().sqrt().unsqueeze(1)
    unit = root / length(root)
    walk = np.sort(abs(np.linalg.eigvalsh(matrix)))[-2]
    assert second_eigenvalue(graph) == pytest.approx(walk)
    _, found = gradients(deep, graph, reference.normal(0, 7, 4))
    apart = factors([length(g - unit @ (unit.T @ g)) for g in found])
    for factor, size in zip(apart, spectral(deep), strict=True):
        assert factor <= walk * size
    x = reference.normal(0, 7, 5).requires_grad_()
    same = torch.ones(7, 5, dtype=torch.float64)
    (before,) = torch.autograd.grad(deep.blocks[0](graph, x), x, same)
    assert similarity(same) == 0 and similarity(before) > 0.1


@pytest.mark.parametrize("activation", LIPSCHITZ)
@pytest.mark.parametrize("residual", ["none", "identity"])
def test_gradients_grow_no_faster_than_the_maps(residual, activation, reference):
    """P4: ‖G^ℓ‖_F ≤ ‖W‖₂ ‖G^{ℓ+1}‖_F, 1 + ‖W‖₂ with a residual, on a graph with directed and doubled edges."""
    graph, deep = reference.small_graph(), gcn(reference, residual=residual, activation=activation)
    assert np.linalg.norm(convolution(reference.edges_of(graph), 7), 2) <= 1 + 1e-12
    found = factors([length(g) for g in gradients(deep, graph, reference.normal(0, 7, 4))[1]])
    for factor, size in zip(found, spectral(deep), strict=True):
        assert factor <= (residual == "identity") + size


def test_random_maps_add_to_the_gradient_on_average(reference):
    """P5, T3: E‖G^ℓ‖² = ‖G^{ℓ+1}‖² + dσ² ‖ÂᵀG^{ℓ+1}‖² for maps of independent entries, within 1 %."""
    width, sigma, draws = 32, 0.2, 800
    graph = reference.build(IRREGULAR, nodes=7)
    block = gcn(reference, residual="identity", hidden=width, layers=1).blocks[0]
    gradient = reference.normal(0, 7, width)
    x, generator, total = reference.normal(1, 7, width).requires_grad_(), torch.Generator().manual_seed(0), 0.0
    for _ in range(draws):
        with torch.no_grad():
            block.conv.weight.normal_(0, sigma, generator=generator)
        total += length(torch.autograd.grad(block(graph, x), x, gradient)[0]).item() ** 2
    spread = np.linalg.norm(convolution(IRREGULAR, 7).T @ gradient.numpy()) ** 2
    expected = length(gradient).item() ** 2 + width * sigma**2 * spread
    assert total / draws == pytest.approx(expected, rel=0.01)


@given(seed=st.integers(0, 2**32 - 1), nodes=st.integers(1, 9), width=st.integers(1, 5), scale=st.floats(-1e6, 1e6))
@settings(max_examples=50, deadline=None)
def test_properties_of_similarity(seed, nodes, width, scale):
    """P6, T4."""
    draw = torch.Generator().manual_seed(seed)
    x = torch.randn(nodes, width, generator=draw, dtype=torch.float64)
    row = torch.randn(width, generator=draw, dtype=torch.float64)
    near = {"rel": 1e-9, "abs": 1e-12}
    mu = similarity(x).item()
    assert similarity(x + row).item() == pytest.approx(mu, **near)
    assert similarity(scale * x).item() == pytest.approx(abs(scale) * mu, rel=1e-9, abs=1e-9)
    assert mu <= length(x).item() * (1 + 1e-12)
    assert length(x).item() ** 2 == pytest.approx(mu**2 + nodes * length(x.mean(dim=0)).item() ** 2, **near)
    assert similarity(x[torch.randperm(nodes, generator=draw)]).item() == pytest.approx(mu, **near)


@pytest.mark.parametrize("residual", ["none", "identity"])
def test_closed_form_of_the_gradients(residual, reference):
    """T2: G^ℓ = Σ_S (Âᵀ)^|S| G^L (Π_{k∈S} W^k)ᵀ over the sets S of layers above ℓ, without a residual only over all."""
    graph, deep = reference.build(IRREGULAR, nodes=7), gcn(reference, residual=residual)
    features, found = gradients(deep, graph, reference.normal(0, 7, 4))
    matrix = convolution(IRREGULAR, 7)
    weights = [block.conv.weight.detach().numpy() for block in deep.blocks]
    last = found[-1].numpy()
    for below, gradient in enumerate(found):
        above = range(below, 4)
        sizes = range(len(above) + 1) if residual == "identity" else [len(above)]
        expected = np.zeros((7, 5))
        for chosen in itertools.chain.from_iterable(itertools.combinations(above, size) for size in sizes):
            maps = np.linalg.multi_dot([np.eye(5), np.eye(5), *(weights[k] for k in chosen)])
            expected += np.linalg.matrix_power(matrix.T, len(chosen)) @ last @ maps.T
        np.testing.assert_allclose(gradient.numpy(), expected, rtol=0, atol=1e-10)
    # Of the maps: ∂L/∂W^ℓ = (Â X^ℓ)ᵀ G^{ℓ+1}.
    deep.zero_grad()
    logits = deep(graph, reference.normal(0, 7, 4))
    nn.functional.cross_entropy(logits, torch.arange(7) % 3).backward()
    for block, x, gradient in zip(deep.blocks, features, found[1:], strict=False):
        expected = (matrix @ x.numpy()).T @ gradient.numpy()
        np.testing.assert_allclose(block.conv.weight.grad.numpy(), expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("activation", LIPSCHITZ)
@pytest.mark.parametrize(("weight_norm", "limit"), [("cap:0.5", 0.5), ("fix:4/L", 0.25)])
def test_bounded_maps_bound_the_gradient_of_the_whole_network(weight_norm, limit, activation, reference):
    """T6: ‖G⁰‖ ≤ (1 + c)^L ‖G^L‖."""
    graph = reference.small_graph()
    deep = gcn(reference, residual="identity", activation=activation, layers=16, weight_norm=weight_norm)
    _, found = gradients(deep, graph, reference.normal(0, 7, 4))
    assert length(found[0]) <= (1 + limit) ** 16 * length(found[-1])


def test_a_seed_determines_every_measurement(reference):
    """T7."""
    graph, x = reference.small_graph(), reference.normal(0, 7, 4)

    def measured(seed):
        torch.manual_seed(seed)
        deep = bare(4, 3, layers=4, hidden=2, heads=2, residual="identity").double()
        features, found = gradients(deep, graph, x)
        return [similarity(value).item() for value in (*features, *found)]

    assert measured(1) == measured(1)
    assert measured(1) != measured(2)


def growth(dataset, **options):
    """μ(G⁰) / μ(G^L) at the start, of networks 64 wide, and how much of the features is left, both in float32."""
    torch.manual_seed(0)
    deep = bare(dataset.num_features, 2, model="gcn", hidden=64, heads=1, activation="relu", **options)
    features, found = gradients(deep, dataset.graph, dataset.features)
    return (similarity(found[0]) / similarity(found[-1])).item(), similarity(features[-1])


@pytest.fixture(scope="module")
def planted():
    from lipgnn.datasets import load

    return load("planted")


def test_plain_layers_smooth_gradients_residual_ones_expand_them_and_bounded_ones_do_neither(planted):
    """Theorems 1 and 2 in words: a decade in ten layers either way, and growth within [0.9, 1.2] with fix:4/L."""
    assert growth(planted, layers=40)[0] < 1e-4
    assert growth(planted, layers=40, residual="identity")[0] > 1e4
    assert 0.9 < growth(planted, layers=40, residual="identity", weight_norm="fix:4/L")[0] < 1.2


@pytest.mark.parametrize("layers", [64, 128, 256])
@pytest.mark.parametrize(("model", "norm"), [("gcn", "none"), ("gat", "lip")])
def test_at_any_depth_bounded_maps_keep_gradients_at_their_size(model, norm, layers, planted):
    """In float64, since without a bound the gradients of 256 layers are beyond float32."""

    def growth(weight_norm):
        torch.manual_seed(0)
        options = {"model": model, "norm": norm, "layers": layers, "residual": "identity", "weight_norm": weight_norm}
        deep = bare(planted.num_features, 2, hidden=4, heads=4, **options).double()
        _, found = gradients(deep, planted.graph, planted.features.double())
        return (similarity(found[0]) / similarity(found[-1])).item()

    assert growth("none") > 1e6
    assert 0.5 < growth("fix:4/L") < 2


def test_gradients_that_overflow_are_marked(planted):
    """T8: 256 residual layers in float32."""
    ratio, left = growth(planted, layers=256, residual="identity")
    assert not math.isfinite(ratio) and not left.isfinite()


def attention_layer(reference, model, width=16, norm=None):
    """One head without biases or skip, random scores, and an orthogonal map of values."""
    if model == "gt":
        conv = reference.redraw(TransformerConv(width, width, 1, skip=False, bias=False, norm=norm), seed=2)
        value = conv.value
    else:
        conv = reference.redraw(GATConv(width, width, 1, bias=False, norm=norm), seed=2)
        value = conv.fc
    with torch.no_grad():
        nn.init.orthogonal_(value.weight, generator=torch.Generator().manual_seed(0))
        for linear in (conv.query, conv.key) if model == "gt" else ():
            linear.weight.div_(width**0.5)
    return conv


def residual_after(conv, graph, epsilon, reference):
    """‖res‖ after a layer whose input is 1xᵀ + εR."""
    nodes = graph.num_nodes()
    x = reference.normal(3, 1, 16) + epsilon * reference.normal(4, nodes, 16)
    with torch.no_grad():
        return measures.composite_norm(measures.residual(conv(graph, x).flatten(1), components(graph))).item()


@pytest.mark.parametrize(
    ("model", "norm", "edges", "order"),
    [
        ("gt", None, complete(30), 3),
        ("gt", "lip", complete(30), 3),
        ("gt", None, circulant(30, (1,)), 1),
        ("gat", None, circulant(30, (1,)), 1),
    ],
    ids=["complete", "complete-lip", "ring", "gat-ring"],
)
def test_order_in_which_a_layer_of_attention_shrinks_the_residual(model, norm, edges, order, reference):
    """R3: the slope of log‖res‖ by log ε, near rank one."""
    conv, graph = attention_layer(reference, model, norm=norm), reference.build(edges, nodes=30)
    large, small = (residual_after(conv, graph, epsilon, reference) for epsilon in (0.02, 0.005))
    assert math.log(large / small) / math.log(4) == pytest.approx(order, abs=0.1)


def test_additive_attention_on_a_complete_graph_is_of_rank_one_at_once(reference):
    """R3: near rank one no score changes its sign, and what the target adds cancels in the softmax."""
    conv, graph = attention_layer(reference, "gat"), reference.build(complete(30), nodes=30)
    assert residual_after(conv, graph, 0.01, reference) < 1e-12


def pure_attention(graph, **options):
    """r_ℓ after every layer of a stack without MLPs and activations, one head, orthogonal maps, n = 200."""
    torch.manual_seed(0)
    options = {"layers": 20, "hidden": 16, "heads": 1, "init": "orthogonal", "skip": "none"} | options
    deep = bare(16, 2, model="gt", activation="none", **options).double()
    labels, x = components(graph), torch.randn(graph.num_nodes(), 16, dtype=torch.float64)
    found = []
    with torch.no_grad():
        for block in deep.blocks:
            x = block(graph, x)
            found.append(rank_one_residual(x, labels).item())
    return found


def test_pure_attention_on_a_complete_graph_collapses_in_a_few_layers_and_a_skip_prevents_it(reference):
    """R4."""
    graph = reference.build(complete(200), nodes=200)
    assert pure_attention(graph, layers=4)[-1] < 1e-10
    assert pure_attention(graph, layers=8, residual="identity")[-1] > 0.1


@pytest.fixture(scope="module")
def four_regular(reference):
    """Two random rings through the same 200 nodes, which give every node four neighbours, and loops."""
    draw = np.random.default_rng(0)
    orders = [draw.permutation(200).tolist() for _ in range(2)]
    pairs = [pair for order in orders for pair in zip(order, order[1:] + order[:1], strict=True)]
    return reference.build(both_ways(pairs, 200), nodes=200)


@pytest.mark.parametrize("norm", ["none", "lip"])
def test_on_a_sparse_graph_attention_collapses_as_fast_as_the_walk(norm, four_regular):
    """R5: the ratio of residuals of late layers is λ₂ of the uniform walk."""
    late = pure_attention(four_regular, layers=40, norm=norm)[-16:]
    assert (late[-1] / late[0]) ** (1 / 15) == pytest.approx(second_eigenvalue(four_regular), abs=0.05)


def test_a_skip_keeps_the_rank_on_a_sparse_graph(four_regular):
    assert pure_attention(four_regular, residual="identity")[-1] > 0.7


@pytest.mark.parametrize("model", ["gat", "gatv2", "gt"])
def test_attention_is_a_walk(model, reference):
    """R6: P1 = 1, and so for every product of such matrices."""
    graph = reference.small_graph()
    deep = reference.redraw(bare(3, 2, model=model, layers=3, hidden=2, heads=2), seed=1)
    product = np.eye(7)
    for weights in deep.attention(graph, reference.normal(0, 7, 3)):
        matrix = np.zeros((7, 7))
        for (j, i), weight in zip(reference.edges_of(graph), weights[:, 1].tolist(), strict=True):
            matrix[i, j] += weight
        product = matrix @ product
        np.testing.assert_allclose(product.sum(axis=1), 1, rtol=0, atol=1e-12)
        assert (product >= 0).all()


def test_components_collapse_each_to_a_row_of_its_own(reference):
    """R6: the residual within components vanishes, that around a common row does not."""
    edges = complete(20) + complete(30, first=20)
    graph = reference.build(edges, nodes=50)
    assert component_count(graph) == 2
    torch.manual_seed(0)
    deep = bare(16, 2, model="gt", layers=6, hidden=16, heads=1, skip="none", init="orthogonal", activation="none")
    deep.double()
    with torch.no_grad():
        x = deep.run(deep.blocks, graph, torch.randn(50, 16, dtype=torch.float64))
    assert rank_one_residual(x, components(graph)) < 1e-10
    assert rank_one_residual(x, torch.zeros(50, dtype=torch.int64)) > 0.1


def test_the_order_of_nodes_changes_no_measurement(reference):
    """R8."""
    torch.manual_seed(0)
    deep = bare(4, 3, layers=4, hidden=2, heads=2, residual="identity", activation="none").double()
    order = [3, 0, 6, 2, 5, 1, 4]
    edges, x = reference.edges_of(reference.small_graph()), reference.normal(0, 7, 4)
    moved_edges, moved_x = [(order.index(j), order.index(i)) for j, i in edges], x[order]

    def measured(graph, x):
        labels, found = components(graph), [second_eigenvalue(graph), component_count(graph)]
        with torch.no_grad():
            for block, weights in zip(deep.blocks, deep.attention(graph, x), strict=True):
                y = block(graph, deep.encoder(x))
                values = measures.singular_values(y)
                found += [
                    length(y),
                    similarity(y),
                    measures.dirichlet_energy(graph, y),
                    measures.mean_average_distance(graph, y),
                    measures.effective_rank(values),
                    measures.numerical_rank(values, y),
                    *(measures.composite_norm(measures.residual(y, labels, center)) for center in measures.CENTERS),
                    rank_one_residual(y, labels),
                    measures.attention_entropy(graph, spread_of(graph, weights)),
                    measures.saturated(graph, spread_of(graph, weights), share=0.6),
                ]
        parts = path_shares(deep, graph, x).lengths.values()
        return [
            float(value) for value in (*found, *(n for part in parts for n in (part.share, part.size, part.residual)))
        ]

    expected = measured(reference.build(edges, nodes=7), x)
    assert measured(reference.build(moved_edges, nodes=7), moved_x) == pytest.approx(expected, rel=1e-12, abs=1e-12)
