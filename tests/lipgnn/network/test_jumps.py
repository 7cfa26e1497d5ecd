"""What the decoder sees of all layers: by hand, on hops, and with activations computed again."""

import pytest
import torch
from networks import bare

from lipgnn.network.hops import Hop
from lipgnn.runtime import dgl

JOINED = ("sum", "concat", "max")


def network(reference, **options):
    torch.manual_seed(0)
    return reference.redraw(bare(3, 2, layers=4, hidden=2, heads=2, norm="lip", **options), 1)


@pytest.mark.parametrize("residual", ["identity", "initial"])
@pytest.mark.parametrize("jk", JOINED)
def test_the_decoder_is_given_the_outputs_of_all_layers(jk, residual, reference):
    graph, x = reference.small_graph(), reference.normal(0, 7, 3)
    deep = network(reference, jk=jk, residual=residual).eval()
    outputs = []
    deep.dropout.register_forward_pre_hook(lambda _, given: outputs.append(given[0]))
    logits = deep(graph, x)
    start = now = deep.encoder(x)
    each = [now := block(graph, now, *([start] if residual == "initial" else [])) for block in deep.blocks]
    expected = {
        "sum": each[0] + each[1] + each[2] + each[3],
        "concat": torch.cat(each, dim=1),
        "max": torch.maximum(torch.maximum(each[0], each[1]), torch.maximum(each[2], each[3])),
    }[jk]
    torch.testing.assert_close(outputs[0], expected)
    torch.testing.assert_close(logits, expected @ deep.decoder.weight.t() + deep.decoder.bias)


@pytest.mark.parametrize("jk", JOINED)
def test_on_hops_the_targets_get_what_they_get_on_the_whole_graph(jk, reference):
    torch.manual_seed(0)
    graph = dgl.add_self_loop(dgl.remove_self_loop(dgl.rand_graph(30, 60)))
    sampler = dgl.dataloading.NeighborSampler([-1] * 4)
    inputs, outputs, flows = sampler.sample(dgl.remove_self_loop(graph), torch.tensor([4, 0, 17]))
    deep, x = network(reference, jk=jk, residual="initial").eval(), reference.normal(0, 30, 3)
    hops = [Hop.of_message_flow(flow) for flow in flows]
    torch.testing.assert_close(deep(hops, x[inputs]), deep(graph, x)[outputs])


@pytest.mark.parametrize("jk", JOINED)
def test_a_step_that_computes_activations_again_is_the_same_bit_for_bit(jk, reference):
    def gradients(every):
        deep = network(reference, jk=jk, residual="initial", layer_dropout=0.5, recompute_every=str(every))
        calls = []
        deep.blocks[0].register_forward_pre_hook(lambda *_: calls.append(1))
        torch.manual_seed(2)
        deep(reference.small_graph(), reference.normal(0, 7, 3)).square().sum().backward()
        return [p.grad for p in deep.parameters()], len(calls)

    (kept, once), (again, twice) = gradients(0), gradients(2)
    assert (once, twice) == (1, 2)
    assert all(torch.equal(a, b) for a, b in zip(kept, again, strict=True))
