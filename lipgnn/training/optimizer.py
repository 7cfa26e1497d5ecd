"""How the weights of a run are changed, and the course of its learning rate."""

from __future__ import annotations

import inspect
import math
from typing import TYPE_CHECKING, Any

import torch
from packaging.version import Version

from lipgnn.spec.compression import parse_compress
from lipgnn.spec.run import RunSpec
from lipgnn.training.gradients import Exchange, WeightedMean

if TYPE_CHECKING:
    from lipgnn.network.deep import DeepGNN


class _WithoutCompiler:
    """Torch's optimizers without the wrappers for torch.compile, which nobody here calls.

    The first call of any of them imports the whole compiler, a second or more of every start.
    """

    add_param_group = inspect.unwrap(torch.optim.Optimizer.add_param_group)
    zero_grad = inspect.unwrap(torch.optim.Optimizer.zero_grad)
    state_dict = inspect.unwrap(torch.optim.Optimizer.state_dict)
    load_state_dict = inspect.unwrap(torch.optim.Optimizer.load_state_dict)


class _Adam(_WithoutCompiler, torch.optim.Adam):
    step = torch.no_grad()(inspect.unwrap(torch.optim.Adam.step))


class _Sgd(_WithoutCompiler, torch.optim.SGD):
    step = torch.no_grad()(inspect.unwrap(torch.optim.SGD.step))


def optimizer_of(network: DeepGNN, spec: RunSpec) -> torch.optim.Optimizer:
    """What changes all weights in one call, as far as this torch can: a deep network has many small ones.

    In two where the layers have a weight decay of their own. Where gradients are compressed, their exchange adds the L2
    penalty before that (see `exchange_of`), and nothing is added here.
    """
    compression = parse_compress(spec.compress)
    decays = {} if compression and compression.is_own else decays_of(network, spec)
    members: dict[float, list[torch.nn.Parameter]] = {}
    for name, parameter in network.named_parameters():
        members.setdefault(decays.get(name, 0.0), []).append(parameter)
    groups = [{"params": own, "weight_decay": decay} for decay, own in members.items()]
    if spec.optimizer != "adam":
        return _Sgd(groups, lr=spec.lr, foreach=True)
    one_call = "fused" if Version(torch.__version__) >= Version("2.4") else "foreach"
    return _Adam(groups, lr=spec.lr, **{one_call: True})


def decays_of(network: DeepGNN, spec: RunSpec) -> dict[str, float]:
    """The L2 penalty of every parameter by name: that of the layers, and that of all others."""
    decays = {name: spec.weight_decay for name, _ in network.named_parameters()}
    if spec.weight_decay_of_layers != spec.weight_decay:
        decays |= {f"blocks.{name}": spec.weight_decay_of_layers for name, _ in network.blocks.named_parameters()}
    return decays


def exchange_of(network: DeepGNN, spec: RunSpec) -> Exchange:
    """What becomes of the gradients of a run between workers; in one process, of a run that compresses them."""
    return Exchange(
        network.named_parameters(),
        parse_compress(spec.compress),
        scale=spec.compress_scale,
        memory=spec.compress_memory == "on",
        seed=spec.seed,
        decays=decays_of(network, spec),
    )


def shift_of(network: DeepGNN, spec: RunSpec) -> float:
    """a, in steps: what `shift` says, and d/k where it is 0, for k of d coordinates that a step sends."""
    size = sum(parameter.numel() for parameter in network.parameters())
    compression = parse_compress(spec.compress)
    return spec.shift or size / (compression.count(size) if compression else size)


def mean_of(network: DeepGNN, spec: RunSpec) -> WeightedMean | None:
    """What is evaluated, selected and saved in place of the last weights, if anything is."""
    return WeightedMean(network, shift_of(network, spec)) if spec.optimizer == "memsgd" else None


def schedule(
    spec: RunSpec, optimizer: torch.optim.Optimizer, *, higher_is_better: bool = True, shift: float = 1.0
) -> Any:
    """The scheduler of a run.

    plateau has torch's defaults, on the validation loss. halve is that of Alon & Yahav (2021): half the rate after ten
    evaluations in which what `select` names has not become better by 1e-4. inverse is η_t = lr · a/(a + t) at step t,
    from 0 on: that of the theorem of Stich et al. (2018) with lr = 8/(μ a), and of their experiments with γ/(λ a).

    Parameters
    ----------
    higher_is_better : the direction of the score that `select` may name.
    shift : a.
    """
    if spec.schedule == "inverse":
        return torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: shift / (shift + step))
    if spec.schedule == "plateau":
        return torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)
    if spec.schedule == "halve":
        return torch.optim.lr_scheduler.ReduceLROnPlateau(
            optimizer,
            mode="max" if higher_is_better and not watches(spec).endswith("loss") else "min",
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
    selected = "val_loss" if spec.select == "last" else spec.select
    return {"plateau": "val_loss", "halve": selected}.get(spec.schedule)


def goes_by_steps(spec: RunSpec) -> bool:
    """Whether the learning rate changes after every step, and not after every epoch."""
    return spec.schedule == "inverse"


def ends_with_the_run(spec: RunSpec) -> bool:
    """Whether the course of the learning rate depends on how many epochs a run has at most."""
    return spec.schedule == "cosine"


def without_infinities(state: dict[str, Any]) -> dict[str, Any]:
    """A scheduler's state without its infinities, which JSON cannot hold; they are constants it starts with."""
    return {name: value for name, value in state.items() if value not in (math.inf, -math.inf)}
