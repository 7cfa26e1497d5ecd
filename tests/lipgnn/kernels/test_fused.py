"""The compiled kernel equals the layers that DGL's message passing computes, in outputs and all gradients."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from networks import network_of

from lipgnn.datasets import load
from lipgnn.diagnose.data import WholeData
from lipgnn.diagnose.profile import profile
from lipgnn.kernels import fused
from lipgnn.nn import GATConv, GATv2Conv, SharedHeadsConv, TransformerConv
from lipgnn.nn.softmax import aggregate
from lipgnn.runtime import dgl
from lipgnn.spec.run import RunSpec

pytestmark = pytest.mark.skipif(
    fused.obstacle(torch.device("cpu")) is not None, reason=str(fused.obstacle(torch.device("cpu")))
)

FORMS = ["additive", "dot_product", "dynamic", "shared_product"]
TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-10}
# Layouts: heads fastest with and without a known width, width fastest with one group of heads and with several.
SHAPES = [(8, 8), (8, 5), (4, 3), (8, 40), (3, 7), (1, 1), (1, 33), (11, 9), (16, 2), (17, 4)]


def layer_of(form, heads, width, kappa):
    """The reference, as a layer with these parameters, and the tensors that are its input."""
    kinds = {
        "additive": GATConv,
        "dot_product": TransformerConv,
        "dynamic": GATv2Conv,
        "shared_product": SharedHeadsConv,
    }
    kind = kinds[form]
    norm = {"norm": None} if kappa is None else {"norm": "lip", "kappa": kappa}
    return kind(1, width, heads, allow_zero_in_degree=True, kernel="dgl", **norm)


def by_reference(form, graph, inputs, *, kappa, negative_slope=0.2, keep=None, dropout=0.0):
    """Attention by `apply_edges` and `edge_softmax`; `keep` (E, H) says which weights are not dropped."""
    heads, width = inputs[-1 if form == "shared_product" else 0].shape[1:]
    layer = layer_of(form, heads, width, kappa).to(inputs[0].dtype)

    def drop(weights):
        return weights if keep is None else weights * keep.unsqueeze(-1) / (1 - dropout)

    if form == "additive":
        value = inputs[0]
        # Plain tensors in place of parameters, so that gradients reach them.
        del layer.attn_l, layer.attn_r
        layer.attn_l, layer.attn_r = inputs[1:]
        scores = torch.nn.functional.leaky_relu(layer.scores(graph, value), negative_slope)
    elif form == "dynamic":
        value, query = inputs[:2]
        del layer.attn
        layer.attn, layer.leaky_relu = inputs[2], torch.nn.LeakyReLU(negative_slope)
        scores = layer.scores(graph, value, query)
    elif form == "shared_product":
        query, key, mixing, value = inputs
        del layer.mixing
        layer.mixing = mixing
        scores = layer.scores(graph, query, key, value)
    else:
        scores, value = layer.scores(graph, *inputs), inputs[2]
    return aggregate(graph, scores, value, drop)[0]


def by_kernel(form, graph, inputs, *, kappa, heads_fastest=False, negative_slope=0.2, dropout=0.0, seed=0):
    def lay(x):
        return x.transpose(1, 2).contiguous().transpose(1, 2) if heads_fastest else x

    if form == "additive":
        z, attn_l, attn_r = inputs
        slope = {"negative_slope": negative_slope}
        return fused.additive(graph, lay(z), attn_l, attn_r, kappa=kappa, dropout=dropout, seed=seed, **slope)
    if form == "dynamic":
        key, query, attn = inputs
        slope = {"negative_slope": negative_slope}
        return fused.dynamic(graph, lay(key), lay(query), attn, kappa=kappa, dropout=dropout, seed=seed, **slope)
    if form == "shared_product":
        query, key, mixing, value = inputs
        numbers = {"scale": value.shape[-1] ** -0.5, "kappa": kappa, "dropout": dropout, "seed": seed}
        return fused.shared_product(graph, query, key, mixing, lay(value), **numbers)
    return fused.dot_product(graph, *map(lay, inputs), kappa=kappa, dropout=dropout, seed=seed)


def inputs_of(form, nodes, heads, width, *, seed=0, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    counts = {"additive": (nodes, 1, 1), "dot_product": (nodes, nodes, nodes), "dynamic": (nodes, nodes, 1)}
    # A number of shared channels that is neither that of a head nor a multiple of anything.
    channels = width + heads + 3
    shared = [(nodes, channels), (nodes, channels), (heads, channels), (nodes, heads, width)]
    shapes = shared if form == "shared_product" else [(count, heads, width) for count in counts[form]]
    return [torch.randn(shape, dtype=dtype, generator=generator) for shape in shapes]


def with_gradients(function, form, graph, inputs, **options):
    leaves = [x.clone().requires_grad_() for x in inputs]
    out = function(form, graph, leaves, **options)
    weights = torch.randn(out.shape, dtype=out.dtype, generator=torch.Generator().manual_seed(99))
    gradients = torch.autograd.grad(out, leaves, weights)
    return [out.detach(), *gradients]


def assert_equal(found, expected):
    """Outputs by their own size; gradients by the largest of all, since some vanish but for rounding."""
    dtype = found[0].dtype
    size = max(float(x.abs().max()) for x in expected[1:] if x.numel()) if expected[1].numel() else 1.0
    torch.testing.assert_close(found[0], expected[0], atol=TOLERANCE[dtype], rtol=TOLERANCE[dtype])
    for ours, theirs in zip(found[1:], expected[1:], strict=True):
        torch.testing.assert_close(ours, theirs, atol=TOLERANCE[dtype] * size, rtol=TOLERANCE[dtype])


def compare(form, graph, inputs, **options):
    reference = {name: value for name, value in options.items() if name != "heads_fastest"}
    assert_equal(
        with_gradients(by_kernel, form, graph, inputs, **options),
        with_gradients(by_reference, form, graph, inputs, **reference),
    )


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=60, deadline=None)
@given(
    data=st.data(),
    shape=st.sampled_from(SHAPES),
    dtype=st.sampled_from([torch.float32, torch.float64]),
    kappa=st.sampled_from([None, 4.0, 0.5]),
    zeros=st.sets(st.integers(0, 6), max_size=3),
    seed=st.integers(0, 1000),
)
def test_equals_the_reference_on_any_graph(form, data, shape, dtype, kappa, zeros, seed, reference):
    """Isolated nodes, repeated edges, with and without loops, rows of zeros; every layout and both types."""
    graph = data.draw(reference.graphs(complete=data.draw(st.sampled_from(["nothing", "loops"]))))
    inputs = inputs_of(form, graph.num_nodes(), *shape, seed=seed, dtype=dtype)
    for row in zeros & set(range(graph.num_nodes())):
        inputs[0][row] = 0
    heads_fastest = shape[0] in (4, 8) and data.draw(st.booleans())
    compare(form, graph, inputs, kappa=kappa, heads_fastest=heads_fastest)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kappa", [None, 4.0, 0.02])
@pytest.mark.parametrize("shape, heads_fastest", [((8, 8), True), ((8, 8), False), ((3, 5), False), ((1, 64), False)])
def test_equals_the_reference_around_a_hub_of_degree_ten_thousand(form, kappa, shape, heads_fastest):
    generator = torch.Generator().manual_seed(0)
    hub, nodes = 7, 10_001
    others = torch.arange(nodes)
    further = torch.randint(nodes, (2, 3000), generator=generator)
    graph = dgl.graph(
        (
            torch.cat([others, further[0], torch.full((500,), hub)]),
            torch.cat([torch.full_like(others, hub), further[1], others[:500]]),
        )
    )
    inputs = inputs_of(form, nodes, *shape, dtype=torch.float64)
    compare(form, graph, inputs, kappa=kappa, heads_fastest=heads_fastest)


@pytest.mark.parametrize("form", FORMS)
def test_equal_lengths_pass_their_gradient_to_the_first_neighbour_as_dgl_does(form, reference):
    graph = reference.small_graph()
    inputs = inputs_of(form, 7, 3, 2)
    for x in inputs:
        if len(x) == 7:
            x[:] = x[0].clone()
    compare(form, graph, inputs, kappa=1.0)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kappa", [1e-6, 1e-10])
@pytest.mark.parametrize("shape, heads_fastest", [((8, 8), True), ((8, 8), False), ((2, 8), False), ((1, 64), False)])
def test_scores_beyond_the_digits_of_their_type_have_the_gradients_of_twice_the_digits(
    form, kappa, shape, heads_fastest
):
    """Scores of 1e6 lie 0.06 apart in float32: exp bears no other rounding on the way back than on the way there."""
    ends = torch.randint(40, (2, 200), generator=torch.Generator().manual_seed(1))
    graph = dgl.add_self_loop(dgl.graph(tuple(ends)))
    inputs = inputs_of(form, graph.num_nodes(), *shape, seed=5, dtype=torch.float32)
    found = with_gradients(by_kernel, form, graph, inputs, kappa=kappa, heads_fastest=heads_fastest)
    weights = torch.randn(found[0].shape, generator=torch.Generator().manual_seed(99))
    leaves = [x.double().requires_grad_() for x in inputs]
    exact = by_reference(form, graph, leaves, kappa=kappa)
    expected = [exact.detach(), *torch.autograd.grad(exact, leaves, weights.double())]
    assert_equal(found, [x.float() for x in expected])


@pytest.mark.parametrize("slope", [0.0, 0.3, 1.0, 2.5])
@pytest.mark.parametrize("form", ["additive", "dynamic"])
def test_any_slope_that_rises(form, slope, reference):
    compare(form, reference.small_graph(), inputs_of(form, 7, 8, 3), kappa=None, negative_slope=slope)


@pytest.mark.parametrize("kappa", [None, 1.0])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("heads, heads_fastest", [(2, False), (4, True)])
def test_gradcheck(form, kappa, heads, heads_fastest, reference):
    inputs = [x.requires_grad_() for x in inputs_of(form, 7, heads, 2, seed=5)]

    def function(*inputs):
        return by_kernel(
            form, reference.small_graph(), inputs, kappa=kappa, heads_fastest=heads_fastest, dropout=0.3, seed=1
        )

    assert torch.autograd.gradcheck(function, inputs)


def philox(counter, key):
    """Philox 4x32-10 after Salmon et al., SC 2011, in Python's whole numbers."""
    for _ in range(10):
        low, high = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = ((high >> 32) ^ counter[1] ^ key[0], high % 2**32, (low >> 32) ^ counter[3] ^ key[1], low % 2**32)
        key = ((key[0] + 0x9E3779B9) % 2**32, (key[1] + 0xBB67AE85) % 2**32)
    return counter


def test_philox_gives_the_known_answers():
    """From the test vectors published with Random123."""
    assert philox((0,) * 4, (0,) * 2) == (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)
    ones = 2**32 - 1
    assert philox((ones,) * 4, (ones,) * 2) == (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)


def kept(edges, heads, dropout, seed):
    """Which attention weights are kept, (E, H): by seed, edge and head alone."""
    threshold, key = math.floor(dropout * 2**32), (seed % 2**32, seed >> 32)
    words = [[philox((edge, 0, head // 4, 0), key)[head % 4] for head in range(heads)] for edge in range(edges)]
    return torch.from_numpy(np.array(words) >= threshold)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kappa", [None, 2.0])
@pytest.mark.parametrize("heads, width, heads_fastest", [(8, 8, True), (6, 3, False), (11, 2, False)])
def test_dropout_is_that_of_the_seed_the_edge_and_the_head(form, kappa, heads, width, heads_fastest, reference):
    graph, seed, dropout = reference.small_graph(), 2**40 + 12345, 0.4
    inputs = inputs_of(form, 7, heads, width)
    keep = kept(graph.num_edges(), heads, dropout, seed)
    assert_equal(
        with_gradients(
            by_kernel, form, graph, inputs, kappa=kappa, heads_fastest=heads_fastest, dropout=dropout, seed=seed
        ),
        with_gradients(by_reference, form, graph, inputs, kappa=kappa, keep=keep, dropout=dropout),
    )


def test_layers_draw_the_seed_of_their_dropout_from_torch(reference):
    layer = GATConv(4, 2, 3, attn_drop=0.5, kernel="fused")
    graph, x = reference.small_graph(), torch.ones(7, 4)
    outputs = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        outputs.append(layer(graph, x))
    assert torch.equal(outputs[0], outputs[1]) and not torch.equal(outputs[0], outputs[2])
    layer.eval()
    assert torch.equal(layer(graph, x), layer(graph, x))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("shape, heads_fastest", [((8, 8), True), ((5, 6), False)])
def test_every_bit_is_the_same_at_any_number_of_threads(form, shape, heads_fastest):
    generator = torch.Generator().manual_seed(3)
    edges = torch.cat(
        [torch.randint(3000, (2, 40_000), generator=generator) ** 2 // 3000, torch.arange(3000).expand(2, -1)], 1
    )
    graph, inputs = dgl.graph(tuple(edges)), inputs_of(form, 3000, *shape, dtype=torch.float32)
    threads, results = torch.get_num_threads(), []
    try:
        for number in (1, 2, 3, 7):
            torch.set_num_threads(number)
            options = {"kappa": 4.0, "heads_fastest": heads_fastest, "dropout": 0.1, "seed": 5}
            results.append(with_gradients(by_kernel, form, graph, inputs, **options))
    finally:
        torch.set_num_threads(threads)
    for other in results[1:]:
        assert all(map(torch.equal, results[0], other))


@pytest.mark.parametrize("size", [1e-30, 1e-10, 1e10, 1e30])
@pytest.mark.parametrize("form", FORMS)
def test_with_the_norm_features_of_any_size_are_alike(form, size, reference):
    """LipschitzNorm does not see the scale of the features; float32 must not either."""
    graph = reference.small_graph()
    inputs = inputs_of(form, 7, 8, 8, dtype=torch.float32)
    scaled = [x * size if len(x) == 7 else x for x in inputs]
    usual = with_gradients(by_kernel, form, graph, inputs, kappa=1.0, heads_fastest=True)
    found = with_gradients(by_kernel, form, graph, scaled, kappa=1.0, heads_fastest=True)
    assert all(x.isfinite().all() for x in found)
    torch.testing.assert_close(found[0] / size, usual[0], rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(
        found[-1] if form.endswith("product") else found[1],
        usual[-1] if form.endswith("product") else usual[1],
        rtol=1e-4,
        atol=1e-5,
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("size", [1e6, 1e9, 1e14])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("shape, heads_fastest", [((8, 8), True), ((3, 5), False)])
def test_huge_scores_choose_one_neighbour_or_share_among_equal_ones(form, size, dtype, shape, heads_fastest, reference):
    def attend(graph, inputs):
        return by_kernel(form, graph, inputs, kappa=None, heads_fastest=heads_fastest)

    for check, nodes in ((reference.check_saturated, 7), (reference.check_tied, 4)):
        inputs = inputs_of(form, nodes, *shape, dtype=dtype, seed=4)
        inputs[0] *= size
        check(attend, inputs, form)


def test_an_exploding_network_explodes_as_much_as_by_the_reference():
    """Gradients of 64 residual layers, whose features grow beyond 1e12 and whose attention is saturated.

    What is rounded off in its first layers is as large as anything in its last ones: no more than the order is certain.
    """
    data, growth = load("planted"), {}
    spec = RunSpec(dataset="planted", layers=64, residual="identity", norm="none", dtype="float64")
    for kernel in ("dgl", "fused"):
        torch.manual_seed(0)
        network = network_of(spec.with_values(kernel=kernel), data.num_features, data.num_classes)
        found = profile(network, WholeData.of(spec, data, torch.device("cpu")))
        assert found.layers[-1]["feat_norm"] > 1e12
        growth[kernel] = math.log10(found.layers[0]["grad_norm"] / found.layers[-1]["grad_norm"])
    assert growth["dgl"] > 15
    assert growth["fused"] == pytest.approx(growth["dgl"], abs=1)


def test_what_is_not_finite_stays_visible(reference):
    inputs = inputs_of("additive", 7, 8, 8, dtype=torch.float32)
    inputs[0][4, 2, 1] = float("nan")
    out = by_kernel("additive", reference.small_graph(), inputs, kappa=4.0, heads_fastest=True)
    assert out[2, 2].isnan().any() and out[5, 2].isnan().any(), "the neighbours of node 4"
    assert out[0].isfinite().all()


@pytest.mark.parametrize("kind", [GATConv, GATv2Conv, TransformerConv, SharedHeadsConv])
def test_nothing_with_a_row_for_every_edge_is_kept(kind):
    nodes, edges, heads, width = 50, 4000, 8, 8
    graph = dgl.graph(
        tuple(torch.randint(nodes, (2, edges), generator=torch.Generator().manual_seed(0))), num_nodes=nodes
    )
    sizes = []

    def pack(tensor):
        sizes.append(tensor.numel())
        return tensor

    layer = kind(16, width, heads, norm="lip", kernel="fused", allow_zero_in_degree=True)
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        out = layer(graph, torch.randn(nodes, 16, requires_grad=True))
    assert sizes and max(sizes) <= nodes * heads * width < edges * heads
    out.sum().backward()


@pytest.mark.parametrize("kappa", [None, 1.0])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("heads, heads_fastest", [(2, False), (4, True)])
def test_gradcheck_of_targets_of_their_own_and_of_edge_weights(weighted, kappa, heads, heads_fastest, reference):
    """Five sources, three targets, one of them without an edge."""
    graph = dgl.create_block(([0, 1, 1, 4, 4], [0, 0, 2, 2, 2]), num_src_nodes=5, num_dst_nodes=3)
    shapes = [(5, heads, 2), (3, heads, 2), (1, heads, 2), (1, heads, 2), (heads, 2), (5,)]
    inputs = [reference.normal(number, *shape).requires_grad_() for number, shape in enumerate(shapes)]

    def function(z, target, attn_l, attn_r, bias, edge_weight):
        if heads_fastest:
            z, target = (x.transpose(1, 2).contiguous().transpose(1, 2) for x in (z, target))
        return fused.additive(
            graph,
            *(z, attn_l, attn_r),
            kappa=kappa,
            negative_slope=0.2,
            dropout=0.3,
            seed=3,
            bias=bias,
            target=target,
            edge_weight=edge_weight if weighted else None,
        )

    assert torch.autograd.gradcheck(function, inputs)


@pytest.mark.parametrize("kappa", [None, 1.0, 0.01])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("dropout", [0.0, 0.3])
@pytest.mark.parametrize("heads, heads_fastest", [(2, False), (4, True)])
def test_gradcheck_of_dynamic_scores_with_a_bias_of_values(dropout, weighted, kappa, heads, heads_fastest, reference):
    """Five sources, three targets, one of them without an edge; without weights or dropout the bias is added once."""
    graph = dgl.create_block(([0, 1, 1, 4, 4], [0, 0, 2, 2, 2]), num_src_nodes=5, num_dst_nodes=3)
    shapes = [(5, heads, 2), (3, heads, 2), (1, heads, 2), (heads, 2), (5,)]
    inputs = [reference.normal(number, *shape).requires_grad_() for number, shape in enumerate(shapes)]
    options = {"kappa": kappa, "negative_slope": 0.2, "seed": 3}

    def function(key, query, attn, bias, edge_weight):
        if heads_fastest:
            key, query = (x.transpose(1, 2).contiguous().transpose(1, 2) for x in (key, query))
        more = {"bias": bias, "dropout": dropout, "edge_weight": edge_weight if weighted else None}
        return fused.dynamic(graph, key, query, attn, **options, **more)

    assert torch.autograd.gradcheck(function, inputs)
    if not weighted and not dropout:
        key, query, attn, bias, _ = inputs
        plain = fused.dynamic(graph, key, query, attn, dropout=0.0, **options)
        entered = torch.tensor([1.0, 0.0, 1.0]).view(3, 1, 1)
        torch.testing.assert_close(function(*inputs), plain + entered * bias)


@pytest.mark.parametrize("size", [1e-30, 1e30])
def test_with_the_norm_an_attention_vector_of_any_size_gives_the_same(size, reference):
    key, query, attn = inputs_of("dynamic", 7, 8, 8, dtype=torch.float32)
    usual, found = (
        with_gradients(by_kernel, "dynamic", reference.small_graph(), [key, query, attn * factor], kappa=0.5)
        for factor in (1.0, size)
    )
    found[-1] = found[-1] * size
    torch.testing.assert_close(found, usual, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kappa", [None, 1.0])
def test_gradcheck_of_dot_products_of_other_targets(kappa, reference):
    graph = dgl.create_block(([0, 1, 1, 4, 4], [0, 0, 2, 2, 2]), num_src_nodes=5, num_dst_nodes=3)
    shapes = [(3, 4, 2), (5, 4, 2), (5, 4, 2), (5,)]
    inputs = [reference.normal(number, *shape).requires_grad_() for number, shape in enumerate(shapes)]

    def function(*inputs):
        return fused.dot_product(graph, *inputs[:3], kappa=kappa, dropout=0.3, seed=1, edge_weight=inputs[3])

    assert torch.autograd.gradcheck(function, inputs)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kappa", [None, 2.0])
@pytest.mark.parametrize("heads, heads_fastest", [(3, False), (8, True)])
def test_where_all_is_dropped_the_sums_are_zero_and_so_are_the_gradients(form, kappa, heads, heads_fastest, reference):
    found = with_gradients(
        by_kernel,
        form,
        reference.small_graph(),
        inputs_of(form, 7, heads, 2),
        kappa=kappa,
        heads_fastest=heads_fastest,
        dropout=1.0,
    )
    assert not any(x.any() for x in found), "as of torch.nn.Dropout(1.0): neither NaN nor infinite"


def test_a_noncontiguous_input_is_taken_as_it_is(reference):
    z, attn_l, attn_r = inputs_of("additive", 7, 3, 4)
    apart = torch.empty(14, 3, 8, dtype=z.dtype)[::2, :, ::2].copy_(z)
    assert not apart.is_contiguous()
    found, expected = (
        with_gradients(by_kernel, "additive", reference.small_graph(), [x, attn_l, attn_r], kappa=1.0)
        for x in (apart, z)
    )
    assert all(map(torch.equal, found, expected))


def test_narrow_heads_lie_side_by_side():
    assert fused.heads_fastest(8, 8) and fused.heads_fastest(4, 16)
    assert not fused.heads_fastest(8, 64) and not fused.heads_fastest(3, 8)
    layer = GATConv(4, 8, 8, kernel="fused")
    graph = dgl.add_self_loop(dgl.graph(([0], [1])))
    seen = []
    original = fused.additive
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            fused,
            "additive",
            lambda graph, z, *rest, **options: seen.append(z.stride()) or original(graph, z, *rest, **options),
        )
        layer(graph, torch.ones(2, 4))
    assert seen == [(64, 1, 8)], "the projection writes the order that the kernel wants"
