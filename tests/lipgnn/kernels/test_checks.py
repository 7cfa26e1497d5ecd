"""What does not fit the graph is refused in one sentence, before compiled code could read or write beside it."""

from __future__ import annotations

import pytest
import torch

from lipgnn.errors import DataError, UsageError
from lipgnn.kernels import fused
from lipgnn.kernels.checks import autocasting
from lipgnn.runtime import dgl

pytestmark = pytest.mark.skipif(
    fused.obstacle(torch.device("cpu")) is not None, reason=str(fused.obstacle(torch.device("cpu")))
)

NUMBERS = {"kappa": 1.0, "dropout": 0.0, "seed": 0}


def additive(graph, *, z=(7, 3, 2), attn_l=(1, 3, 2), attn_r=(1, 3, 2), **more):
    arrays = [x if isinstance(x, torch.Tensor) else torch.ones(x) for x in (z, attn_l, attn_r)]
    return fused.additive(graph, *arrays, **{**NUMBERS, "negative_slope": 0.2, **more})


@pytest.mark.parametrize("kappa", [None, 1.0])
@pytest.mark.parametrize(
    "wrong",
    [
        {"z": (6, 3, 2)},
        {"z": (8, 3, 2)},
        {"z": (7, 6)},
        {"attn_l": (1, 2, 2)},
        {"attn_r": (3, 2)},
        {"attn_r": (1, 3, 3)},
        {"attn_l": torch.ones(1, 3, 2, dtype=torch.float64)},
        {"attn_l": torch.ones(1, 3, 2, device="meta")},
        {"z": torch.ones(7, 3, 2, device="meta")},
        {"bias": torch.ones(6)},
        {"bias": torch.ones(3, 1)},
        {"target": torch.ones(6, 3, 2)},
        {"edge_weight": torch.ones(15)},
        {"edge_weight": torch.ones(16, 1)},
        {"edge_weight": torch.ones(16, dtype=torch.float64)},
    ],
    ids=str,
)
def test_additive_refuses_what_does_not_fit(wrong, kappa, reference):
    graph = reference.small_graph()
    assert graph.num_edges() == 16
    with pytest.raises(DataError, match=r"must be \(|graph is on cpu"):
        additive(graph, **{"kappa": kappa, **wrong})


@pytest.mark.parametrize("kappa", [None, 1.0])
@pytest.mark.parametrize(
    "wrong",
    [
        {"query": (6, 5)},
        {"query": (7, 4)},
        {"key": (8, 5)},
        {"key": (7, 1, 5)},
        {"mixing": (2, 5)},
        {"mixing": (3, 6)},
        {"mixing": (5,)},
        {"value": (6, 3, 2)},
        {"value": (7, 6)},
        {"edge_weight": (15,)},
    ],
    ids=str,
)
def test_shared_product_refuses_what_does_not_fit(wrong, kappa, reference):
    shapes = {"query": (7, 5), "key": (7, 5), "mixing": (3, 5), "value": (7, 3, 2), **wrong}
    arrays = {name: torch.ones(shape) for name, shape in shapes.items()}
    with pytest.raises(DataError, match=r"must be \("):
        fused.shared_product(reference.small_graph(), **arrays, scale=1.0, **{**NUMBERS, "kappa": kappa})
    if "edge_weight" not in wrong:
        with pytest.raises(DataError, match=r"must be \("):
            fused.shared_product_spread(reference.small_graph(), **arrays, scale=1.0, kappa=kappa)


@pytest.mark.parametrize("kappa", [None, 1.0])
@pytest.mark.parametrize("which", [0, 1, 2])
@pytest.mark.parametrize("shape", [(6, 3, 2), (8, 3, 2), (7, 2, 2), (7, 3, 1), (7, 6)])
def test_dot_product_refuses_what_does_not_fit(shape, which, kappa, reference):
    arrays = [torch.ones(7, 3, 2) for _ in range(3)]
    arrays[which] = torch.ones(shape)
    with pytest.raises(DataError, match=r"must be \("):
        fused.dot_product(reference.small_graph(), *arrays, **{**NUMBERS, "kappa": kappa})
    with pytest.raises(DataError, match=r"must be \("):
        fused.dot_product_spread(reference.small_graph(), *arrays, kappa=kappa)


@pytest.mark.parametrize("kappa", [None, 1.0])
@pytest.mark.parametrize(
    "wrong",
    [
        {"key": (6, 3, 2)},
        {"key": (7, 6)},
        {"query": (8, 3, 2)},
        {"query": (7, 3, 1)},
        {"attn": (2, 3, 2)},
        {"attn": (3, 2)},
        {"bias": (6,)},
        {"edge_weight": (15,)},
    ],
    ids=str,
)
def test_dynamic_refuses_what_does_not_fit(wrong, kappa, reference):
    shapes = {"key": (7, 3, 2), "query": (7, 3, 2), "attn": (1, 3, 2), "bias": (3, 2), "edge_weight": (16,), **wrong}
    arrays, numbers = {name: torch.ones(shape) for name, shape in shapes.items()}, {"negative_slope": 0.2}
    with pytest.raises(DataError, match=r"must be \("):
        fused.dynamic(reference.small_graph(), **arrays, **numbers, **{**NUMBERS, "kappa": kappa})
    if not wrong.keys() & {"bias", "edge_weight"}:
        del arrays["bias"], arrays["edge_weight"]
        with pytest.raises(DataError, match=r"must be \("):
            fused.dynamic_spread(reference.small_graph(), **arrays, **numbers, kappa=kappa)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.int64])
def test_types_that_are_not_computed_in_are_named(dtype, reference):
    arrays = [torch.ones(shape, dtype=dtype) for shape in ((7, 3, 2), (1, 3, 2), (1, 3, 2))]
    named = f"float32 or float64, and got {str(dtype)[6:]}"
    with pytest.raises(UsageError, match=named):
        additive(reference.small_graph(), z=arrays[0], attn_l=arrays[1], attn_r=arrays[2])
    with pytest.raises(UsageError, match=named):
        fused.dot_product(reference.small_graph(), *[arrays[0]] * 3, **NUMBERS)


@pytest.mark.parametrize(
    "wrong",
    [
        {"kappa": 0.0},
        {"kappa": -1.0},
        {"kappa": float("inf")},
        {"dropout": -0.1},
        {"dropout": 1.5},
        {"dropout": float("nan")},
        {"negative_slope": -0.1},
    ],
    ids=str,
)
def test_numbers_that_cannot_be_computed_with_are_refused(wrong, reference):
    with pytest.raises(UsageError, match=f"{next(iter(wrong))} must be"):
        additive(reference.small_graph(), **wrong)


def test_one_tensor_is_not_enough_where_targets_are_not_the_sources():
    graph = dgl.create_block(([0, 1], [0, 1]), num_src_nodes=7, num_dst_nodes=2)
    with pytest.raises(DataError, match="7 sources and 2 targets"):
        additive(graph)
    assert additive(graph, target=torch.ones(2, 3, 2)).shape == (2, 3, 2)
    with pytest.raises(DataError, match="targets' z must be"):
        fused.additive_spread(
            graph,
            *(torch.ones(7, 3, 2), torch.ones(1, 3, 2), torch.ones(1, 3, 2)),
            kappa=1.0,
            negative_slope=0.2,
            target=torch.ones(3, 3, 2),
        )


def test_whether_torch_chooses_types_itself():
    assert not autocasting("cpu")
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert autocasting("cpu")
        with torch.autocast("cpu", enabled=False):
            assert not autocasting("cpu")
