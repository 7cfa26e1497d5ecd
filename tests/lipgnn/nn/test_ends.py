"""Features that do not fit the graph or the layer are refused in one sentence, by both kernels alike."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from lipgnn.errors import DataError, UsageError
from lipgnn.nn import GATConv, TransformerConv
from lipgnn.nn.ends import Ends
from lipgnn.runtime import dgl

KERNELS = pytest.mark.parametrize("kernel", ["fused", "dgl"])
KINDS = pytest.mark.parametrize("kind", [GATConv, TransformerConv])


def ring(nodes):
    numbers = torch.arange(nodes)
    return dgl.add_self_loop(dgl.graph((numbers, numbers.roll(1))))


@KERNELS
@KINDS
@pytest.mark.parametrize("norm", [None, "lip"])
@pytest.mark.parametrize("rows", [0, 50, 59, 61, 100])
def test_too_few_and_too_many_rows_are_refused(kind, norm, kernel, rows):
    """With 50 rows for 60 nodes memory was corrupted; with 100 rows 40 of the output were never written."""
    layer = kind(6, 7, 3, norm=norm, kernel=kernel)
    sentence = rf"a row for each of the 60 nodes of the graph and 6 columns, and have shape \({rows}, 6\)"
    with pytest.raises(DataError, match=sentence):
        layer(ring(60), torch.ones(rows, 6))
    with pytest.raises(DataError, match=sentence):
        layer.spread(ring(60), torch.ones(rows, 6))
    assert layer(ring(60), torch.ones(60, 6)).shape == (60, 3, 7)


@KERNELS
@KINDS
@pytest.mark.parametrize("shape", [(7, 5), (7, 7), (7,), ()])
def test_another_width_is_refused(kind, kernel, shape):
    with pytest.raises(DataError, match="7 nodes of the graph and 6 columns"):
        kind(6, 7, 3, kernel=kernel)(ring(7), torch.ones(shape))


@KERNELS
@KINDS
def test_another_type_or_device_is_refused(kind, kernel):
    layer = kind(6, 7, 3, kernel=kernel)
    with pytest.raises(DataError, match="Features are float64 on cpu, the layer float32 on cpu, the graph on cpu"):
        layer(ring(7), torch.ones(7, 6, dtype=torch.float64))
    with pytest.raises(DataError, match="Features are float32 on meta, the layer float32 on cpu, the graph on cpu"):
        layer(ring(7), torch.ones(7, 6, device="meta"))


@KERNELS
@KINDS
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_refused_in_a_sentence(kind, kernel, dtype):
    with pytest.raises(UsageError, match=rf"float32 or float64, and got {str(dtype)[6:]}\.") as caught:
        kind(6, 7, 3, kernel=kernel).to(dtype)(ring(7), torch.ones(7, 6, dtype=dtype))
    assert ".float()" in caught.value.hint


@KERNELS
@KINDS
@pytest.mark.parametrize("norm", [None, "lip"])
def test_under_autocast_layers_compute_in_the_type_of_their_weights(kind, kernel, norm, reference):
    layer = kind(6, 7, 3, norm=norm, kernel=kernel)
    x = reference.normal(0, 7, 6, dtype=torch.bfloat16)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = layer(ring(7), x)
    assert found.dtype == torch.float32
    assert torch.equal(found, layer(ring(7), x.float()))
    found.sum().backward()


@KERNELS
@KINDS
@pytest.mark.parametrize("norm", [None, "lip"])
def test_noncontiguous_features_are_taken_as_they_are(kind, kernel, norm, reference):
    layer = kind(6, 2, 4, norm=norm, kernel=kernel).double()
    x = reference.normal(0, 7, 6)
    apart = torch.empty(14, 12, dtype=x.dtype)[::2, ::2].copy_(x)
    assert not apart.is_contiguous() and torch.equal(layer(ring(7), apart), layer(ring(7), x))
    torch.testing.assert_close(layer(ring(7), x.t().contiguous().t()), layer(ring(7), x))


@KERNELS
@KINDS
def test_a_layer_that_drops_all_attention_gives_what_is_left(kind, kernel):
    layer = kind(6, 2, 4, attn_drop=1.0, norm="lip", kernel=kernel)
    x = torch.ones(7, 6, requires_grad=True)
    out = layer(ring(7), x)
    left = layer.bias.view(4, 2) if kind is GATConv else layer.skip(x).view(7, 4, 2)
    torch.testing.assert_close(out, left.expand(7, 4, 2))
    out.square().sum().backward()
    assert x.grad.isfinite().all() and all(p.grad is None or p.grad.isfinite().all() for p in layer.parameters())


@KERNELS
@pytest.mark.parametrize(
    "weight", [torch.ones(13), torch.ones(14, 1), torch.ones(14).double()], ids=lambda w: str(w.shape)
)
def test_edge_weights_that_do_not_fit_are_refused(kernel, weight):
    with pytest.raises(DataError, match=r"edge_weight must be \(14,\) of float32 on cpu"):
        GATConv(6, 7, 3, kernel=kernel)(ring(7), torch.ones(7, 6), weight)


@KERNELS
@KINDS
def test_pairs_that_do_not_fit_are_refused(kind, kernel):
    layer, flow = kind(6, 7, 3, kernel=kernel), dgl.create_block(([0, 1, 4], [0, 1, 1]), 5, 2)
    good = torch.ones(5, 6), torch.ones(2, 6)
    assert layer(flow, good).shape == (2, 3, 7)
    for pair, sentence in (
        ((good[0][:4], good[1]), "5 sources"),
        ((good[0], torch.ones(3, 6)), "2 targets"),
        ((good[0], torch.ones(2, 5)), "2 targets"),
        ((good[0].unsqueeze(1), good[1]), "may differ in rows and columns alone"),
        ((good[0],), "a tensor or a pair"),
    ):
        with pytest.raises(DataError, match=sentence):
            layer(flow, pair)
    with pytest.raises(DataError, match="5 sources"):
        layer(flow, torch.ones(6, 6))


@KINDS
def test_one_tensor_is_refused_where_two_are_needed(kind):
    films = dgl.heterograph({("user", "likes", "film"): ([0, 1], [0, 1])}, {"user": 2, "film": 2})
    with pytest.raises(DataError, match="one tensor was given") as caught:
        kind(6, 7, 3)(films, torch.ones(2, 6))
    assert "a pair" in caught.value.hint
    with pytest.raises(DataError, match="one tensor was given"):
        kind((6, 4), 7, 3)(ring(7), torch.ones(7, 6))
    with pytest.raises(UsageError, match=r"this one has 2 kind\(s\) of edges"):
        several = dgl.heterograph({("a", "to", "a"): ([0], [0]), ("a", "of", "a"): ([0], [0])})
        kind(6, 7, 3)(several, torch.ones(1, 6))


def test_dropout_is_drawn_once_where_targets_are_sources():
    flow = dgl.create_block(([0, 1, 4], [0, 1, 1]), 5, 2)
    ends = Ends.of(flow, torch.ones(5, 6), like=torch.ones(()), widths=(6, 6)).dropped(nn.Dropout(0.5))
    assert torch.equal(ends.source[:2], ends.target)
    same = Ends.of(ring(7), torch.ones(7, 6), like=torch.ones(()), widths=(6, 6)).dropped(nn.Dropout(0.5))
    assert same.source is same.target
