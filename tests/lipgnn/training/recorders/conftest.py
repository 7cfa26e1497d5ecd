"""What the tests of recorders share: a short training."""

import pytest
import torch

from lipgnn.training.state import Training


@pytest.fixture
def training(small_spec, load_for):
    """training(layers=2) -> a run of three layers and four epochs but for what is changed, before its first step."""

    def make(**changes):
        spec = small_spec.with_values(**{"epochs": 4, "layers": 3, **changes})
        return Training(spec, load_for(spec), torch.device("cpu"))

    return make
