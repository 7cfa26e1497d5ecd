"""Triton's kernel as layers use it: equal to the reference in outputs and all gradients, and nothing kept by edge."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from lipgnn.errors import UsageError
from lipgnn.kernels import triton as kernel
from lipgnn.nn import GATConv, TransformerConv

LAYERS = pytest.mark.parametrize("kind", [GATConv, TransformerConv])
NORMS = pytest.mark.parametrize("norm", [None, "lip"])
CPU = torch.device("cpu")


def test_triton_is_imported_when_asked_for_and_where_it_is_missing_the_words_say_what_to_install():
    code = (
        "import sys, torch, lipgnn.nn; assert 'triton' not in sys.modules; sys.modules['triton'] = None; "
        "from lipgnn.kernels import triton as kernel; sys.exit(kernel.obstacle(torch.device('cuda')))"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
    assert done.stderr == "Triton is not installed (pip install 'lipgnn[triton]')\n"


def test_it_wants_cuda_or_the_interpreter(interpreter, monkeypatch):
    assert kernel.obstacle(CPU) is None
    monkeypatch.delenv("TRITON_INTERPRET")
    assert kernel.obstacle(torch.device("cuda")) is None
    assert kernel.obstacle(CPU).startswith("Triton needs a CUDA device, and the tensors are on cpu")


@pytest.mark.parametrize("name, what", [("dynamic", "the scores of GATv2"), ("shared_product", "shared heads")])
def test_what_it_does_not_know_is_refused_by_name(name, what, reference):
    with pytest.raises(UsageError, match=f"does not know {what}") as caught:
        getattr(kernel, name)(reference.small_graph(), torch.ones(7, 5), kappa=None)
    assert "--kernel dgl" in caught.value.hint


def test_heads_stay_apart():
    assert not kernel.heads_fastest(8, 16)


@settings(max_examples=5, deadline=None, phases=[Phase.generate])  # small as they are; to shrink would take minutes
@given(data=st.data(), norm=st.sampled_from([None, "lip"]), seed=st.integers(0, 2**16))
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@LAYERS
def test_equals_the_reference(kind, dtype, data, norm, seed, interpreter, check_equal, reference):
    graph = data.draw(reference.graphs(complete="nothing", max_nodes=4))
    x = reference.normal(seed, graph.num_nodes(), 2, dtype=dtype)
    x[: data.draw(st.integers(0, 2))] = 0
    check_equal(kind, graph, x, seed=seed, norm=norm)


@NORMS
@LAYERS
def test_equals_the_reference_where_edges_do_not_fit_into_one_block(kind, norm, interpreter, check_equal, reference):
    # Ninety edges into node 0 and as many out of node 1. Source 0 comes last and raises the maximum when it does.
    edges = [(4 - e // 18, 0) for e in range(90)] + [(1, e % 5) for e in range(90)]
    graph = reference.build(edges, nodes=5)
    check_equal(
        kind, graph, reference.normal(2, 5, 4), norm=norm, **({"negative_slope": 0.7} if kind is GATConv else {})
    )


@LAYERS
def test_among_equal_neighbours_the_gradient_goes_to_the_first(kind, interpreter, check_equal, reference):
    graph = reference.build([(2, 0), (1, 0), (1, 0), (3, 0), (0, 1), (3, 1), (1, 2), (3, 3)], nodes=4)
    x = reference.normal(4, 1, 3).repeat(4, 1)
    check_equal(kind, graph, x, norm="lip")


@NORMS
@LAYERS
def test_drops_the_weights_that_philox_says(kind, norm, interpreter, check_equal, reference, dropout_mask, monkeypatch):
    seed = 2**62 + 2**33 + 5
    monkeypatch.setattr("lipgnn.nn.attention.draw_seed", lambda dropout: seed)
    graph = reference.build([(0, 1), (2, 1), (1, 1), (2, 0), (1, 0), (0, 0), (0, 2), (0, 2)], nodes=3)
    mask = dropout_mask(8, 2, 0.6, seed)
    assert 0 < mask.count_nonzero() < mask.numel()
    check_equal(kind, graph, reference.normal(6, 3, 3), norm=norm, attn_drop=0.6, mask=mask)


def test_drops_everything(interpreter, reference):
    conv = reference.redraw(GATConv(3, 3, 2, attn_drop=1.0, kernel="triton"), 1)
    out = conv(reference.build([(0, 0), (0, 1)], nodes=2), reference.normal(0, 2, 3))
    torch.testing.assert_close(out, conv.bias.view(1, 2, 3).expand(2, 2, 3))


@pytest.mark.parametrize("size", [1e-30, 1e30])
@LAYERS
def test_equals_the_reference_at_any_size(kind, size, interpreter, check_equal, reference):
    graph = reference.build([(0, 0), (1, 0), (2, 0), (1, 1), (0, 1), (2, 2)], nodes=3)
    x = size * reference.normal(3, 3, 2, dtype=torch.float32)
    check_equal(kind, graph, x, norm="lip", bias=False, alone=True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("size", [1e6, 1e14])
@pytest.mark.parametrize("additive", [True, False])
def test_huge_scores_choose_one_neighbour_or_share_among_equal_ones(additive, size, dtype, interpreter, reference):
    options = {"kappa": None, "dropout": 0.0, "seed": 0}

    def attend(graph, inputs):
        if additive:
            return kernel.additive(graph, *inputs, negative_slope=0.2, **options)
        return kernel.dot_product(graph, *inputs, **options)

    for check, nodes in ((reference.check_saturated, 7), (reference.check_tied, 4)):
        counts = [nodes, 1, 1] if additive else [nodes] * 3
        inputs = [reference.normal(seed, count, 2, 3, dtype=dtype) for seed, count in enumerate(counts)]
        inputs[0] *= size
        check(attend, inputs, "additive" if additive else "dot_product")


@LAYERS
def test_finite_where_small_large_and_denormal_neighbours_meet(kind, interpreter, reference, run):
    graph = reference.build([(0, 0), (1, 0), (2, 0), (3, 1), (0, 1), (2, 2), (3, 3), (0, 3)], nodes=4)
    sizes = torch.tensor([[1e30], [1e-30], [1e-41], [0]])
    conv = reference.redraw(kind(2, 3, 2, norm="lip", bias=False, kernel="triton"), 1, torch.float32)
    for name, value in run(conv, graph, sizes * reference.normal(3, 4, 2, dtype=torch.float32)).items():
        assert value.isfinite().all(), name


@pytest.mark.parametrize("kappa", [None, 4.0])
@pytest.mark.parametrize("nodes", [0, 2])
def test_without_any_edge_the_attention_gives_nothing(nodes, kappa, interpreter, reference):
    graph, options = reference.build([], nodes=nodes), {"kappa": kappa, "dropout": 0.0, "seed": 0}
    z, attn = reference.normal(0, nodes, 2, 3).requires_grad_(), reference.normal(1, 1, 2, 3)
    for out in (
        kernel.additive(graph, z, attn, attn, negative_slope=0.2, **options),
        kernel.dot_product(graph, z, z, z, **options),
    ):
        out.sum().backward()
        assert out.shape == (nodes, 2, 3) and not out.any() and not z.grad.any()


@NORMS
@pytest.mark.parametrize("form", ["additive", "dot_product"])
def test_gradients_are_those_of_finite_differences(form, norm, interpreter, reference):
    graph = reference.build([(0, 0), (1, 0), (2, 0), (1, 1), (2, 1), (2, 1)], nodes=3)
    options = {"kappa": norm and 0.5, "dropout": 0.0, "seed": 0}
    if form == "additive":
        shapes, options = [(3, 1, 2), (1, 1, 2), (1, 1, 2)], {**options, "negative_slope": 0.2}
    else:
        shapes = [(3, 1, 2)] * 3
    tensors = [reference.normal(place, *shape).requires_grad_() for place, shape in enumerate(shapes)]
    function = getattr(kernel, form)
    assert torch.autograd.gradcheck(lambda *given: function(graph, *given, **options), tensors, fast_mode=True)


@NORMS
@LAYERS
def test_nothing_with_a_row_for_every_edge_is_kept(kind, norm, interpreter, reference):
    graph = reference.build([(e % 3, 0) for e in range(50)] + [(0, 1), (0, 2)], nodes=3)
    conv = reference.redraw(kind(4, 3, 2, norm=norm, attn_drop=0.5, kernel="triton"), 1)
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t) or t, lambda t: t):
        conv(graph, reference.normal(0, 3, 4).requires_grad_())
    assert kept and max(t.numel() for t in kept) <= 24  # the weights, (6, 4); a row for every edge would make 52
    wide = {t.data_ptr() for t in kept if t.shape == (3, 2, 3)}
    assert len(wide) == (1 if kind is GATConv else 3)  # z, or query, key and value: nothing else of their size


def test_the_same_twice_and_no_second_derivative(interpreter, reference, run):
    graph, x = reference.build([(0, 0), (1, 0), (0, 1)], nodes=2), reference.normal(0, 2, 3)
    conv = reference.redraw(GATConv(3, 3, 2, norm="lip", kernel="triton"), 1)
    assert torch.equal(run(conv, graph, x)["x"], run(conv, graph, x)["x"])
    x.requires_grad_()
    (grad,) = torch.autograd.grad(conv(graph, x).square().sum(), x, create_graph=True)
    with pytest.raises(UsageError, match="second derivatives"):
        grad.sum().backward()
