import pytest
import torch
from networks import bare

from lipgnn.certify.perturbation import PerturbedNetwork, exact_copy


def network(reference, in_feats=5, **options):
    return reference.redraw(bare(in_feats, 2, **{"layers": 5, "hidden": 2, "heads": 2} | options), seed=1).eval()


@pytest.mark.parametrize("in_feats", [3, 9], ids=["narrow", "wide"])
@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_coordinates_stand_for_perturbations_of_their_length(in_feats, form, reference):
    """Δ = bVᵀ for b, with V from a decomposition of its own, and b = ΔV for Δ."""
    graph, x = reference.small_graph(), reference.normal(0, 7, in_feats)
    deep = network(reference, in_feats)
    perturbed = PerturbedNetwork(deep, graph, x if form == "dense" else x.to_sparse().coalesce())
    right = torch.linalg.svd(deep.encoder.weight.detach(), full_matrices=False)[2]
    b = reference.normal(1, *perturbed.origin.shape)
    assert perturbed.origin.shape == (7, min(in_feats, 4)) and not perturbed.origin.any()
    torch.testing.assert_close(perturbed(perturbed.origin), deep(graph, x))
    torch.testing.assert_close(perturbed(b), deep(graph, x + b @ right))
    assert (b @ right).norm().item() == pytest.approx(b.norm().item())
    delta = reference.normal(2, 7, in_feats)
    torch.testing.assert_close(perturbed(delta @ right.t()), deep(graph, x + delta))
    assert (delta @ right.t()).norm() <= delta.norm() + 1e-12


@pytest.mark.parametrize("residual", ["none", "linear"])
@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_without_an_encoder_coordinates_are_perturbations(form, residual, reference):
    graph, x = reference.small_graph(), reference.normal(0, 7, 9)
    deep = network(reference, 9, encoder="none", residual=residual)
    perturbed = PerturbedNetwork(deep, graph, x if form == "dense" else x.to_sparse().coalesce())
    assert perturbed.origin.shape == (7, 9) and not perturbed.origin.any() and not perturbed.origin.requires_grad
    torch.testing.assert_close(perturbed(perturbed.origin), deep(graph, x))
    delta = reference.normal(1, 7, 9)
    torch.testing.assert_close(perturbed(delta), deep(graph, x + delta))
    leaf, b = x.clone().requires_grad_(), perturbed.origin.requires_grad_()
    expected = torch.autograd.grad(deep(graph, leaf)[2, 0], leaf)[0]
    torch.testing.assert_close(torch.autograd.grad(perturbed(b)[2, 0], b)[0], expected)


@pytest.mark.parametrize("options", [{}, {"residual": "initial"}, {"residual": "scaled", "stack": "reversible"}])
def test_gradients_are_those_of_the_network_however_few_activations_are_kept(options, reference):
    graph, x = reference.small_graph(), reference.normal(0, 7, 3).requires_grad_()
    deep = network(reference, 3, dropout=0.5, layer_dropout=0.5, attn_dropout=0.5, **options)
    expected = torch.autograd.grad(deep(graph, x)[2, 0], x)[0]
    perturbed = PerturbedNetwork(deep, graph, x.detach())
    b = perturbed.origin.requires_grad_()
    right = torch.linalg.svd(deep.encoder.weight.detach(), full_matrices=False)[2]
    torch.testing.assert_close(torch.autograd.grad(perturbed(b)[2, 0], b)[0], expected @ right.t())


def test_the_network_itself_is_left_as_it_is(reference):
    deep = network(reference, weight_norm="fix:0.5", norm="lip+batch").float().train()
    before = {name: tensor.clone() for name, tensor in deep.state_dict().items()}
    copied = exact_copy(deep)
    assert {p.dtype for p in copied.parameters()} == {torch.float64}
    assert not copied.training and not any(p.requires_grad for p in copied.parameters())
    perturbed = PerturbedNetwork(deep, reference.small_graph(), torch.ones(7, 5))
    b = perturbed.origin.requires_grad_()
    torch.autograd.grad(perturbed(b).sum(), b)
    assert deep.training and all(p.requires_grad and p.dtype == torch.float32 for p in deep.parameters())
    assert all(torch.equal(tensor, before[name]) for name, tensor in deep.state_dict().items())
