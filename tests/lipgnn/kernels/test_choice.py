"""`auto` takes what applies and says why; what is asked for by name is used or refused."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from lipgnn.errors import EnvironmentBroken, UsageError
from lipgnn.kernels import choose, choose_for, fused, implementation, native
from lipgnn.nn import GATConv, TransformerConv

CPU, CUDA = torch.device("cpu"), torch.device("cuda")


@pytest.fixture
def not_built(monkeypatch):
    monkeypatch.setattr(native, "library", lambda: (None, "it was not compiled"))


def test_auto_takes_the_fused_kernel_on_the_cpu_if_it_is_built():
    name, reason = choose("auto", CPU)
    assert (name, reason) == (
        ("fused", "the fastest on this device") if fused.obstacle(CPU) is None else ("dgl", reason)
    )


def test_auto_falls_back_to_the_reference_and_says_why(not_built):
    assert choose("auto", CPU) == ("dgl", "it was not compiled")
    assert implementation("auto", CPU) is None


def test_auto_takes_the_reference_on_cuda():
    name, reason = choose("auto", CUDA)
    assert name == "dgl" and "cuda" in reason


@pytest.mark.parametrize("name, device", [("fused", CUDA), ("triton", CPU)])
def test_a_kernel_asked_for_by_name_is_never_replaced(name, device, monkeypatch):
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    with pytest.raises(EnvironmentBroken, match=f"Kernel '{name}' was asked for, but"):
        choose(name, device)


def test_the_fused_kernel_asked_for_and_not_built_is_an_error(not_built):
    with pytest.raises(EnvironmentBroken, match="it was not compiled"):
        implementation("fused", CPU)


def test_an_unknown_kernel_is_named():
    with pytest.raises(UsageError, match="fussed"):
        choose("fussed", CPU)


def test_the_reference_is_always_there():
    assert choose("dgl", CUDA) == ("dgl", "asked for")
    assert implementation("dgl", CPU) is None


class Halved(nn.Module):
    """A score norm that no kernel knows."""

    def forward(self, graph, scores, *_):
        return scores / 2


def test_layers_that_no_kernel_knows_use_the_reference_or_refuse(reference):
    graph, x = reference.small_graph(), torch.ones(7, 4)
    GATConv(4, 2, 3, norm=Halved())(graph, x)
    TransformerConv(4, 2, 3, norm="lip", query_norm="graph")(graph, x)
    for layer in (
        GATConv(4, 2, 3, norm=Halved(), kernel="fused"),
        GATConv(4, 2, 3, negative_slope=-0.1, kernel="fused"),
        TransformerConv(4, 2, 3, norm="lip", query_norm="graph", kernel="fused"),
    ):
        with pytest.raises(UsageError, match="Kernel 'fused' knows layers"):
            layer(graph, x)


def test_more_heads_than_the_kernel_has_room_for(reference):
    graph, x = reference.small_graph(), torch.ones(7, 2)
    layers = [GATConv(2, 1, 1025, kernel=kernel) for kernel in ("auto", "dgl", "fused")]
    for layer in layers[1:]:
        layer.load_state_dict(layers[0].state_dict())
    assert torch.equal(layers[0](graph, x), layers[1](graph, x))
    with pytest.raises(UsageError, match="up to 1024 heads, got 1025"):
        layers[2](graph, x)
    assert GATConv(2, 1, 1024, kernel="fused")(graph, x).isfinite().all()


def test_a_norm_that_no_kernel_knows_is_computed_by_dgl():
    assert choose_for("lip-source+layer", "auto", CPU) == ("dgl", "the only one that knows lip-source")
    for norm in ("lip", "none", "batch"):
        assert choose_for(norm, "auto", CPU) == choose("auto", CPU)
