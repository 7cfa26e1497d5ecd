"""The dropout of networks: the kernel's or torch's, drawn from torch's generator either way."""

import pytest
import torch

from lipgnn.nn.dropout import FeatureDropout, draw_seed


@pytest.mark.parametrize("kernel", ["auto", "dgl"])
def test_it_repeats_itself_from_the_state_of_the_generator(kernel):
    drop, x = FeatureDropout(0.5, kernel), torch.ones(200)
    torch.manual_seed(0)
    first, second = drop(x), drop(x)
    torch.manual_seed(0)
    assert torch.equal(drop(x), first) and not torch.equal(first, second)
    assert set(first.tolist()) == {0.0, 2.0}


@pytest.mark.parametrize("kernel", ["auto", "dgl"])
def test_evaluation_and_a_share_of_zero_leave_the_features_and_the_generator_alone(kernel):
    x, state = torch.ones(200), torch.get_rng_state()
    assert FeatureDropout(0.5, kernel).eval()(x) is x
    assert FeatureDropout(0.0, kernel)(x) is x
    assert draw_seed(FeatureDropout(0.0)) == 0 and draw_seed(FeatureDropout(0.5).eval()) == 0
    assert torch.equal(torch.get_rng_state(), state)


def test_with_the_reference_it_is_torchs_own():
    x = torch.ones(200)
    torch.manual_seed(0)
    ours = FeatureDropout(0.3, "dgl")(x)
    torch.manual_seed(0)
    assert torch.equal(ours, torch.nn.functional.dropout(x, 0.3))


@pytest.mark.parametrize("x, p", [(torch.ones(8, dtype=torch.bfloat16), 0.5), (torch.ones(8), 1.0)])
def test_what_the_kernel_does_not_know_is_left_to_torch(x, p):
    y = FeatureDropout(p)(x)
    assert y.dtype == x.dtype and set(y.tolist()) <= {0.0, 2.0}
