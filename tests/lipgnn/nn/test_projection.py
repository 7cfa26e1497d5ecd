"""Maps by the kernel's product: nn.Linear in all but speed."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from lipgnn.nn.projection import Projection, project


@pytest.mark.parametrize("kernel", ["auto", "dgl"])
@pytest.mark.parametrize("shape", [(5, 3), (2, 5, 3), (700, 64)])
def test_is_linear_as_torch_has_it(shape, kernel):
    x = torch.randn(*shape, generator=torch.Generator().manual_seed(0))
    torch.manual_seed(1)
    theirs = nn.Linear(shape[-1], 64)
    torch.manual_seed(1)
    ours = Projection(shape[-1], 64, kernel=kernel)
    assert all(map(torch.equal, ours.state_dict().values(), theirs.state_dict().values()))
    assert list(ours.state_dict()) == list(theirs.state_dict())
    torch.testing.assert_close(ours(x), theirs(x), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("heads_fastest", [True, False])
@pytest.mark.parametrize("bias", [True, None, torch.arange(12.0)])
def test_heads_of_a_map_lie_as_they_are_asked_for(bias, heads_fastest):
    own, x = nn.Linear(5, 12), torch.randn(7, 5, generator=torch.Generator().manual_seed(0))
    found = project(own, x, 4, heads_fastest=heads_fastest, kernel="auto", bias=bias)
    expected = x @ own.weight.t() + (own.bias if bias is True else 0 if bias is None else bias)
    torch.testing.assert_close(found, expected.view(7, 4, 3))
    assert (found.transpose(1, 2) if heads_fastest else found).is_contiguous()
