import pytest
import torch
from team_jobs import batch_norm
from teamwork import together
from torch import nn

from lipgnn.norms import BatchNorm
from lipgnn.training.distributed.batch_norm import SharedBatchNorm, share_statistics
from lipgnn.training.distributed.team import Team


@pytest.mark.parametrize("sizes", [(4, 3), (2, 0, 3)])
def test_rows_of_all_workers_are_one_batch(tmp_path, sizes):
    """Outputs, running statistics and gradients are those of torch's BatchNorm of all rows; an idle worker is none."""
    x = torch.randn(sum(sizes), 3, dtype=torch.float64) * 5 + 2
    weights = torch.randn_like(x)
    norm = nn.BatchNorm1d(3).double()
    own = x.clone().requires_grad_()
    wanted = norm(own)
    (wanted * weights).sum().backward()
    found = together(len(sizes), tmp_path, batch_norm, x, weights, sizes)
    outputs, gradients, states = zip(*found, strict=True)
    torch.testing.assert_close(torch.cat([out for out in outputs if out is not None]), wanted.detach())
    for place, parameter in enumerate((norm.weight, norm.bias)):
        torch.testing.assert_close(sum(each[place] for each in gradients), parameter.grad)
    torch.testing.assert_close(torch.cat([each[2] for each in gradients if each[2] is not None]), own.grad)
    for state in states:
        for name, tensor in norm.state_dict().items():
            torch.testing.assert_close(state[name], tensor)


def test_it_takes_the_place_of_every_batch_norm_and_has_its_tensors():
    network = nn.Sequential(nn.Linear(2, 2), BatchNorm(2), nn.Sequential(nn.BatchNorm1d(2)))
    before = network.state_dict()
    share_statistics(network, Team())
    assert type(network[1].norm) is SharedBatchNorm is type(network[2][0])
    after = network.state_dict()
    assert before.keys() == after.keys()
    assert all(before[name].data_ptr() == after[name].data_ptr() for name in before)


def test_in_evaluation_it_is_torchs():
    norm = nn.BatchNorm1d(2).eval()
    norm.running_mean += 1
    x = torch.randn(5, 2)
    assert torch.equal(SharedBatchNorm(norm, Team())(x), norm(x))
