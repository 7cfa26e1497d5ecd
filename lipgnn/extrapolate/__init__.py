"""Where a walker goes on to that was observed a few times: ends, samples and likelihoods by a trained model.

`prefix_of` reads what was observed, `read_continuations` paths that are asked about, and `extrapolate` answers.

Reference: Cordonnier & Loukas, "Extrapolating paths with graph neural networks", IJCAI 2019.
"""

from lipgnn.extrapolate.answer import Extrapolation
from lipgnn.extrapolate.continuations import Continuations, read_continuations
from lipgnn.extrapolate.extrapolation import check_task, extrapolate
from lipgnn.extrapolate.prefix import Prefix, Truth, prefix_of

__all__ = [
    "Continuations",
    "Extrapolation",
    "Prefix",
    "Truth",
    "check_task",
    "extrapolate",
    "prefix_of",
    "read_continuations",
]
