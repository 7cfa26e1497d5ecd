"""How the weights of a run are changed, and the course of its learning rate."""

from __future__ import annotations

import inspect
import math
from typing import TYPE_CHECKING, Any

import torch
from packaging.version import Version

from lipgnn.spec.run import RunSpec

if TYPE_CHECKING:
    from lipgnn.network.deep import DeepGNN


class _Adam(torch.optim.Adam):
    """Torch's Adam without the wrappers for torch.compile, which nobody here calls.

    The first call of any of them imports the whole compiler, a second or more of every start.
    """

    add_param_group = inspect.unwrap(torch.optim.Optimizer.add_param_group)
    zero_grad = inspect.unwrap(torch.optim.Optimizer.zero_grad)
    state_dict = inspect.unwrap(torch.optim.Optimizer.state_dict)
    step = torch.no_grad()(inspect.unwrap(torch.optim.Adam.step))
    load_state_dict = inspect.unwrap(torch.optim.Optimizer.load_state_dict)


def adam(network: DeepGNN, spec: RunSpec) -> torch.optim.Adam:
    """Adam over all weights in one call, as far as this torch can: a deep network has many small ones.

    In two where the layers have a weight decay of their own.
    """
    one_call = "fused" if Version(torch.__version__) >= Version("2.4") else "foreach"
    groups = [{"params": list(network.parameters())}]
    if spec.weight_decay_of_layers != spec.weight_decay:
        of_layers = list(network.blocks.parameters())
        known = {id(parameter) for parameter in of_layers}
        others = [parameter for parameter in network.parameters() if id(parameter) not in known]
        groups = [{"params": others}, {"params": of_layers, "weight_decay": spec.weight_decay_of_layers}]
    return _Adam(groups, lr=spec.lr, weight_decay=spec.weight_decay, **{one_call: True})


def schedule(spec: RunSpec, optimizer: torch.optim.Optimizer, *, higher_is_better: bool = True) -> Any:
    """The scheduler of a run.

    plateau has torch's defaults, on the validation loss. halve is that of Alon & Yahav (2021): half the rate after ten
    evaluations in which what `select` names has not become better by 1e-4.

    Parameters
    ----------
    higher_is_better : the direction of the score that `select` may name.
    """
    if spec.schedule == "plateau":
        return torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)
    if spec.schedule == "halve":
        return torch.optim.lr_scheduler.ReduceLROnPlateau(
            optimizer,
            mode="max" if higher_is_better and not spec.select.endswith("loss") else "min",
            factor=0.5,
            patience=10,
            threshold=1e-4,
            threshold_mode="abs",
        )
    if spec.schedule == "cosine":
        return torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=max(1, spec.own_epochs))
    return None


def watches(spec: RunSpec) -> str | None:
    """The metric that the schedule of a run looks at; None if it goes by epochs alone."""
    return {"plateau": "val_loss", "halve": spec.select}.get(spec.schedule)


def without_infinities(state: dict[str, Any]) -> dict[str, Any]:
    """A scheduler's state without its infinities, which JSON cannot hold; they are constants it starts with."""
    return {name: value for name, value in state.items() if value not in (math.inf, -math.inf)}
