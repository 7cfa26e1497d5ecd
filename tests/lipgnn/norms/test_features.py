"""Feature norms: what each promises of its output, and equality with torch's and PyTorch Geometric's."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch
from torch import nn

from lipgnn.catalog import FEATURE_NORMS
from lipgnn.errors import UsageError
from lipgnn.norms import BatchNorm, FeatureNorm, LayerNorm, PairNorm, feature_norm

GRAPH = None  # none of these norms looks at the graph


@pytest.fixture
def x(reference) -> torch.Tensor:
    """Nine rows of width 4, far from the origin and of very different lengths."""
    return 5 + torch.linspace(0.1, 10, 9, dtype=torch.float64).view(9, 1) * reference.normal(1, 9, 4)


@pytest.fixture(scope="module")
def pyg_norms():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import torch_geometric.nn
    return torch_geometric.nn.norm


@pytest.mark.parametrize("scale", [1.0, 3.0])
def test_pair_norm_centres_and_fixes_the_mean_square_length(scale, x):
    out = PairNorm(scale=scale)(GRAPH, x)
    np.testing.assert_allclose(out.mean(dim=0), 0, atol=1e-12)
    assert out.square().sum(dim=1).mean().item() == pytest.approx(scale**2, rel=1e-6)


def test_pair_norm_keeps_the_total_pairwise_distance_whatever_the_input(x):
    def total(rows):
        return torch.cdist(rows, rows).square().sum().item()

    expected = 2 * 9**2 * 3.0**2  # 2 n² s²
    for rows in (x, 100 * x, x + 50, 0.1 * x.flip(1)):
        assert total(PairNorm(scale=3.0)(GRAPH, rows)) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("scale", [1.0, 3.0])
def test_individual_pair_norm_gives_rows_of_one_length_in_the_centred_direction(scale, x):
    out = PairNorm(scale=scale, individually=True)(GRAPH, x)
    np.testing.assert_allclose(out.norm(dim=1), scale, rtol=1e-5)
    centred = x - x.mean(dim=0)
    torch.testing.assert_close(out / scale, nn.functional.normalize(centred, dim=1), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("scale", [1.0, 3.0])
def test_pair_norm_is_that_of_pytorch_geometric(scale, x, pyg_norms):
    theirs = pyg_norms.PairNorm(scale=scale, eps=1e-6)
    torch.testing.assert_close(PairNorm(scale=scale)(GRAPH, x), theirs(x), atol=1e-12, rtol=1e-12)
    # PyTorch Geometric adds its ε outside of the root for PN-SI.
    theirs = pyg_norms.PairNorm(scale=scale, scale_individually=True, eps=0.0)
    ours = PairNorm(scale=scale, individually=True, eps=0.0)
    torch.testing.assert_close(ours(GRAPH, x), theirs(x), atol=1e-12, rtol=1e-12)


def test_layer_norm_of_nodes_is_that_of_torch(x, reference):
    theirs = reference.redraw(nn.LayerNorm(4), seed=3)
    ours = LayerNorm(4).double()
    ours.load_state_dict(theirs.state_dict(), strict=True)
    torch.testing.assert_close(ours(GRAPH, x), theirs(x), atol=0, rtol=0)


def test_layer_norm_of_the_graph_standardizes_all_entries_together(x, pyg_norms):
    norm = LayerNorm(4, mode="graph").double()
    assert sum(parameter.numel() for parameter in norm.parameters()) == 2
    out = norm(GRAPH, x).detach()
    assert out.mean().item() == pytest.approx(0, abs=1e-12)
    assert out.std(unbiased=False).item() == pytest.approx(1, rel=1e-4)
    torch.testing.assert_close(out, pyg_norms.LayerNorm(4, affine=False, mode="graph")(x), atol=1e-12, rtol=1e-12)
    with torch.no_grad():
        norm.weight.fill_(3)
        norm.bias.fill_(-1)
    torch.testing.assert_close(norm(GRAPH, x), 3 * out - 1)


def test_batch_norm_is_that_of_torch_in_training_and_evaluation(x, reference):
    theirs = reference.redraw(nn.BatchNorm1d(4), seed=3)
    ours = BatchNorm(4).double()
    ours.norm.load_state_dict(theirs.state_dict(), strict=True)
    for training in (True, True, False):
        ours.train(training), theirs.train(training)
        torch.testing.assert_close(ours(GRAPH, x), theirs(x), atol=0, rtol=0)


@pytest.mark.parametrize("name", FEATURE_NORMS)
def test_every_name_of_the_catalog_gives_a_norm_that_keeps_the_shape(name, x):
    norm = feature_norm(name, 4)
    assert isinstance(norm, FeatureNorm)
    assert norm.double()(GRAPH, x).shape == x.shape


def test_names_give_the_norms_they_describe(x):
    same = {
        "pair": PairNorm(),
        "pair-si": PairNorm(individually=True),
        "layer": LayerNorm(4),
        "layer-graph": LayerNorm(4, mode="graph"),
        "batch": BatchNorm(4),
    }
    assert set(same) == set(FEATURE_NORMS)
    for name, norm in same.items():
        torch.testing.assert_close(feature_norm(name, 4).double()(GRAPH, x), norm.double()(GRAPH, x))


@pytest.mark.parametrize("value", [0.0, 7.0])
@pytest.mark.parametrize("name", list(FEATURE_NORMS))
def test_equal_features_give_finite_values_and_gradients(name, value):
    x = torch.full((5, 4), value, requires_grad=True)
    out = feature_norm(name, 4)(GRAPH, x)
    (out * torch.linspace(-1, 1, 20).view(5, 4)).sum().backward()
    assert out.isfinite().all() and x.grad.isfinite().all()


@pytest.mark.parametrize("name", FEATURE_NORMS)
def test_gradcheck(name, x):
    norm = feature_norm(name, 4).double()
    assert torch.autograd.gradcheck(lambda x: norm(GRAPH, x), x.requires_grad_())


def test_unknown_names_and_modes_list_the_valid_ones():
    with pytest.raises(UsageError, match="Unknown feature norm 'pairs'") as caught:
        feature_norm("pairs", 4)
    assert "Did you mean 'pair'?" in caught.value.hint
    assert all(name in caught.value.hint for name in FEATURE_NORMS)
    with pytest.raises(UsageError, match="no mode 'nodes'") as caught:
        LayerNorm(4, mode="nodes")
    assert caught.value.hint == "Valid: 'node', 'graph'."
