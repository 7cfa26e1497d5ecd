import numpy as np
import pytest
import torch

from lipgnn.compress import compress_model
from lipgnn.compress.effect import effect_of, logit_changes, standing_of, uniform_standing
from lipgnn.evaluate import evaluate

CPU = torch.device("cpu")


def test_a_standing_has_the_scores_of_an_evaluation_and_the_size(untrained, data):
    saved = untrained(bias="none")
    found = standing_of(saved, data, CPU)
    assert found.scores == evaluate(saved, data, CPU).accuracy and found.metric == "accuracy"
    assert found.query_key_parameters == 2 * 2 * 12 * 12
    assert found.parameters == sum(weight.numel() for weight in saved.network.parameters())
    assert found.shared_dim is None


def test_uniform_attention_is_that_of_the_mean_over_neighbours(untrained, data):
    saved = untrained(norm="lip")
    before = {name: weight.clone() for name, weight in saved.network.state_dict().items()}
    found = uniform_standing(saved, data, CPU)
    assert (found.shared_dim, found.query_key_parameters) == (0, 0)
    assert all(torch.equal(weight, before[name]) for name, weight in saved.network.state_dict().items())
    for block in saved.network.blocks:
        torch.nn.init.zeros_(block.conv.key.weight)
        torch.nn.init.zeros_(block.conv.key.bias)
    assert found.scores == evaluate(saved, data, CPU).accuracy


@pytest.mark.parametrize("norm", ["none", "lip"])
def test_logit_changes_are_those_of_a_dense_loop(untrained, data, norm):
    """Of the first layer, whose input is the same in both models: scores of every edge, then softmax, in numpy."""
    saved = untrained(norm=norm)
    small = compress_model(saved, 5).model
    x = saved.network.encode(torch.as_tensor(data.features_array, dtype=torch.float64)).detach()
    sources, targets = (ends.numpy() for ends in data.graph.edges())
    logits = []
    for one in (saved, small):
        conv = one.network.blocks[0].conv
        logits.append(_log_attention(conv, x, sources, targets, normalized=norm == "lip"))
    expected = np.abs(logits[0] - logits[1]).max()
    assert logit_changes(saved, small, data, CPU)[0] == pytest.approx(expected, rel=1e-6)


def _log_attention(conv, x, sources, targets, *, normalized):
    """(E, H), by the score of the block mask where heads share nothing."""
    with torch.no_grad():
        query, key, value = (linear(x).numpy() for linear in (conv.query, conv.key, conv.value))
    blocks = np.repeat(np.eye(conv.num_heads), conv.out_feats, axis=1)
    mixing = conv.mixing.detach().numpy() if hasattr(conv, "mixing") else blocks
    found = np.zeros((len(sources), conv.num_heads))
    for h, row in enumerate(mixing):
        u, v = (np.sqrt((np.abs(row) * side**2).sum(axis=1)) for side in (query, key))
        w = np.linalg.norm(value[:, blocks[h] > 0], axis=1)
        for node in np.unique(targets):
            edges = np.flatnonzero(targets == node)
            own = sources[edges]
            scores = np.array([(row * query[node] * key[j]).sum() for j in own])
            if normalized:
                longest = sorted((u[node], v[own].max(), w[own].max()))
                scores = scores / (conv.norm.kappa * longest[1] * longest[2])
            else:
                scores = scores / np.sqrt(conv.out_feats)
            found[edges, h] = scores - np.log(np.exp(scores).sum())
    return found


def test_the_effect_of_the_full_width_is_none(untrained, data):
    saved = untrained(stack="reversible", residual="identity", norm="lip")
    found = effect_of(saved, compress_model(saved, 12), data, CPU)
    assert len(found.layers) == len(found.logit_changes) == 4
    assert max(found.logit_changes) < 1e-12
    assert found.standing.scores == standing_of(saved, data, CPU).scores
    assert found.standing.shared_dim == 12
