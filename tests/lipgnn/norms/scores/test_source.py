"""The variants of LipschitzNorm, against what they say edge by edge."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scores import additive, gradients

from lipgnn.errors import UsageError
from lipgnn.norms import LipschitzNorm, SourceLipschitzNorm


def variant_formula(edges, z: np.ndarray, attn: np.ndarray, kappa: float, variant: str) -> np.ndarray:
    """Scores of the variants, edge by edge and head by head, (E, H)."""
    nodes, heads, width = z.shape
    lengths = np.linalg.norm(z, axis=-1)
    longest = np.array([np.max([lengths[j] for j, i in edges if i == node], axis=0) for node in range(nodes)])
    scores = np.empty((len(edges), heads))
    for e, (j, i) in enumerate(edges):
        for h in range(heads):
            raw = attn[h, :width] @ z[j, h] + attn[h, width:] @ z[i, h]
            over_all = variant in ("all-heads", "released")
            attn_length = np.linalg.norm(attn if over_all else attn[h])
            top = longest.ravel()[i] if variant == "released" else longest[i, h]
            own = lengths[i, h] if variant == "all-heads" else lengths[j, h]
            scores[e, h] = raw / (kappa * attn_length * np.sqrt(top**2 + own**2))
    return scores


VARIANTS = {
    "all-heads": LipschitzNorm(kappa=2.0, per_head=False),
    "source": SourceLipschitzNorm(kappa=2.0),
    "released": SourceLipschitzNorm(kappa=2.0, released=True),
}


@settings(max_examples=20, deadline=None)
@given(data=st.data(), variant=st.sampled_from(list(VARIANTS)))
def test_variants_are_what_they_say(data, variant, reference):
    graph = data.draw(reference.graphs(complete="loops"))
    z, attn = reference.normal(1, graph.num_nodes(), 3, 2), reference.normal(2, 1, 3, 4)
    scores = additive(VARIANTS[variant], graph, z, attn).squeeze(-1)
    expected = variant_formula(reference.edges_of(graph), z.numpy(), attn[0].numpy(), 2.0, variant)
    np.testing.assert_allclose(scores, expected, atol=1e-12)
    if variant != "released":
        assert scores.abs().max() <= 1 / 2 + 1e-12


@pytest.mark.parametrize("variant", VARIANTS)
def test_gradcheck_of_the_variants(variant, reference):
    graph, norm = reference.small_graph(), VARIANTS[variant]
    z, attn = reference.normal(1, 7, 2, 2).requires_grad_(), reference.normal(2, 1, 2, 4).requires_grad_()
    assert torch.autograd.gradcheck(lambda z, attn: additive(norm, graph, z, attn), (z, attn))


def test_with_one_head_the_released_code_is_the_source_norm_and_with_several_scores_leave_the_bound(reference):
    graph = reference.small_graph()
    z, attn = reference.normal(1, 7, 1, 2), reference.normal(2, 1, 1, 4)
    released, source = VARIANTS["released"], VARIANTS["source"]
    torch.testing.assert_close(additive(released, graph, z, attn), additive(source, graph, z, attn))
    # Node 6 reads the maximum of node 3, which is tiny here: 4 / (κ ‖a‖ ‖z_6‖) in place of 4 / (κ ‖a‖ √2 ‖z_6‖).
    z, attn = torch.ones(7, 2, 2), torch.ones(1, 2, 4)
    z[[0, 1, 2, 3]] = 1e-6
    attn[0, 1] = 0
    loops = reference.build([(i, i) for i in range(7)], nodes=7)
    assert additive(released, loops, z, attn)[6, 0].item() == pytest.approx(4 / (2 * 2 * math.sqrt(2)))
    assert additive(source, loops, z, attn)[6, 0].item() == pytest.approx(1 / 2)
    assert not hasattr(released, "node_bound") and not hasattr(source, "node_bound")


@pytest.mark.parametrize("variant", VARIANTS)
def test_zeros_are_finite_for_the_variants_too(variant, reference):
    graph, norm = reference.small_graph(), VARIANTS[variant]
    z, attn = torch.zeros(7, 2, 2, requires_grad=True), torch.zeros(1, 2, 4, requires_grad=True)
    scores = additive(norm, graph, z, attn)
    assert torch.equal(scores, torch.zeros_like(scores))
    assert all(gradient.isfinite().all() for gradient in gradients(scores, z, attn))


@pytest.mark.parametrize("kappa", [0, -1.0, math.inf, math.nan])
def test_kappa_must_be_positive_and_finite(kappa):
    with pytest.raises(UsageError, match=f"kappa must be a positive number, got {kappa!r}"):
        SourceLipschitzNorm(kappa=kappa)


def test_the_printed_form_names_the_settings():
    assert repr(SourceLipschitzNorm(released=True)) == "SourceLipschitzNorm(kappa=4.0, released=True)"
