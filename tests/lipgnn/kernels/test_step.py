"""How features lie in memory, and that nothing moves where it need not."""

import pytest
import torch

from lipgnn.errors import UsageError
from lipgnn.kernels.native import MOST_HEADS
from lipgnn.kernels.step import Layout


def test_more_heads_than_there_is_room_for_are_refused():
    Layout(torch.zeros(1, MOST_HEADS, 1))
    with pytest.raises(UsageError, match=f"up to {MOST_HEADS} heads, got {MOST_HEADS + 1}"):
        Layout(torch.zeros(1, MOST_HEADS + 1, 1))


@pytest.mark.parametrize("shape", [(8, 5), (3, 4)])
def test_rows_and_heads_are_each_others_reverse(shape):
    x = torch.randn(6, *shape)
    for features in (x, x.transpose(1, 2).contiguous().transpose(1, 2)):
        layout = Layout(features)
        assert layout.rows(features).data_ptr() == features.data_ptr() or not layout.heads_fastest
        torch.testing.assert_close(layout.heads(layout.rows(features)), x, rtol=0, atol=0)
