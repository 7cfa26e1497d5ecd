"""The optimizer of a run: Adam as torch has it, and schedules whose state JSON can hold."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile

import pytest
import torch
from networks import bare
from torch import nn

from lipgnn.spec.run import FIELDS, RunSpec
from lipgnn.training.optimizer import ends_with_the_run, optimizer_of, schedule, watches, without_infinities

SAME = {"layer_weight_decay": "same"}
SPEC = RunSpec(**SAME)


def test_is_adam_in_one_call():
    spec = RunSpec(lr=0.03, weight_decay=0.01, layer_weight_decay="same")
    generator = torch.Generator().manual_seed(0)
    networks = [nn.Linear(4, 3), nn.Linear(4, 3)]
    networks[1].load_state_dict(networks[0].state_dict())
    optimizers = [
        optimizer_of(networks[0], spec),
        torch.optim.Adam(networks[1].parameters(), lr=0.03, weight_decay=0.01),
    ]
    assert optimizers[0].defaults["fused"] or optimizers[0].defaults["foreach"]
    for _ in range(5):
        for parameters in zip(*(network.parameters() for network in networks), strict=True):
            gradient = torch.randn(parameters[0].shape, generator=generator)
            for parameter in parameters:
                parameter.grad = gradient.clone()
        for optimizer in optimizers:
            optimizer.step()
    for ours, theirs in zip(*(network.parameters() for network in networks), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-6, atol=1e-7)


def test_layers_have_their_own_weight_decay_and_nothing_else_has_it():
    """Without gradients, Adam moves by the sign of what the penalty adds: zero weight decay moves nothing."""
    spec = RunSpec(lr=0.5, weight_decay=0.0, layer_weight_decay="0.01")
    # A weight close to zero would move by less.
    torch.manual_seed(0)
    network = bare(4, 3, layers=3, hidden=2, heads=2)
    optimizer = optimizer_of(network, spec)
    assert sorted(len(group["params"]) for group in optimizer.param_groups) == sorted(
        [
            len(list(network.blocks.parameters())),
            len(list(network.parameters())) - len(list(network.blocks.parameters())),
        ]
    )
    before = {name: parameter.detach().clone() for name, parameter in network.named_parameters()}
    for parameter in network.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimizer.step()
    for name, parameter in network.named_parameters():
        expected = before[name] - 0.5 * before[name].sign() if name.startswith("blocks.") else before[name]
        torch.testing.assert_close(parameter.detach(), expected, rtol=1e-3, atol=1e-3)
    assert len(optimizer_of(network, SPEC).param_groups) == 1


@pytest.mark.parametrize("name", [name for name in FIELDS["schedule"].metadata["choices"] if name != "none"])
def test_every_schedule_goes_on_from_its_state_in_json(name):
    """Where nothing gets better, rates fall after steps 12 and 23 or step by step: the break at 17 is between falls."""
    spec = RunSpec(**SAME, schedule=name, epochs=40, lr=0.8)

    def rates(optimizer, scheduler, steps):
        for _ in range(steps):
            scheduler.step(*([0.5] if watches(spec) else []))
            yield optimizer.param_groups[0]["lr"]

    def fresh():
        optimizer = optimizer_of(nn.Linear(2, 2), spec)
        scheduler = schedule(spec, optimizer)
        # Torch warns where a schedule moves before its optimizer.
        optimizer.step()
        return optimizer, scheduler

    uninterrupted = list(rates(*fresh(), steps=30))
    optimizer, scheduler = fresh()
    assert list(rates(optimizer, scheduler, steps=17)) == uninterrupted[:17]
    state = json.loads(json.dumps(without_infinities(scheduler.state_dict()), allow_nan=False))
    resumed, going_on = fresh()
    resumed.load_state_dict(optimizer.state_dict())
    going_on.load_state_dict(state)
    assert list(rates(resumed, going_on, steps=13)) == pytest.approx(uninterrupted[17:], rel=1e-12)
    assert min(uninterrupted[17:]) < uninterrupted[16]


def test_the_state_of_a_schedule_that_has_not_moved_is_json():
    """Before the first evaluation the best value of a plateau is infinite, which JSON cannot hold."""
    scheduler = schedule(RunSpec(**SAME, schedule="plateau"), optimizer_of(nn.Linear(2, 2), SPEC))
    assert scheduler.state_dict()["best"] == math.inf
    json.dumps(without_infinities(scheduler.state_dict()), allow_nan=False)


def test_without_a_schedule_there_is_none():
    assert schedule(RunSpec(**SAME, schedule="none"), optimizer_of(nn.Linear(2, 2), SPEC)) is None


@pytest.mark.parametrize("select, course", [("train_score", [0.5] * 30), ("val_loss", [2.0] * 30)])
def test_halve_halves_after_ten_evaluations_without_a_gain(select, course):
    spec = RunSpec(**SAME, schedule="halve", select=select, lr=0.8)
    optimizer = optimizer_of(nn.Linear(2, 2), spec)
    scheduler = schedule(spec, optimizer)
    rates = []
    for number, value in enumerate(course):
        # Too little to count as a gain, whichever way is up.
        scheduler.step(value + (1e-6 * number if select == "train_score" else -1e-6 * number))
        rates.append(optimizer.param_groups[0]["lr"])
    # The first is the best; the eleventh without a gain is one too many.
    assert rates == [0.8] * 11 + [0.4] * 11 + [0.2] * 8
    assert watches(spec) == select


def test_training_does_not_import_the_compiler():
    """It takes a second or more of every start, and nothing is compiled here."""
    code = (
        "import sys; from cli.main import run; "
        "run('train --dataset planted --layers 2 --epochs 2 -q --json'.split()); "
        "sys.exit('torch._dynamo' in sys.modules)"
    )
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-c", code], cwd=folder, check=True, capture_output=True)


@pytest.mark.parametrize("name", FIELDS["schedule"].metadata["choices"])
def test_a_schedule_that_ends_with_the_run_is_one_that_differs_by_its_length(name):
    """Twenty epochs of a loss that stays as it is, of runs of twenty and of a hundred epochs."""
    courses = []
    for epochs in (20, 100):
        spec = RunSpec(schedule=name, epochs=epochs, lr=0.1)
        optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=spec.lr)
        scheduler = schedule(spec, optimizer)
        courses.append([])
        for _ in range(20):
            optimizer.step()
            if scheduler:
                scheduler.step(*([1.0] if watches(spec) else []))
            courses[-1].append(optimizer.param_groups[0]["lr"])
    assert (courses[0] != courses[1]) == ends_with_the_run(RunSpec(schedule=name))
