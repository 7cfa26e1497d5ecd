"""The optimizer of a run: Adam as torch has it, and schedules whose state JSON can hold."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile

import pytest
import torch
from networks import bare
from torch import nn

from lipgnn.spec.run import RunSpec
from lipgnn.training.optimizer import adam, schedule, watches, without_infinities


def test_is_adam_in_one_call():
    spec = RunSpec(lr=0.03, weight_decay=0.01)
    generator = torch.Generator().manual_seed(0)
    networks = [nn.Linear(4, 3), nn.Linear(4, 3)]
    networks[1].load_state_dict(networks[0].state_dict())
    optimizers = [adam(networks[0], spec), torch.optim.Adam(networks[1].parameters(), lr=0.03, weight_decay=0.01)]
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
    network = bare(4, 3, layers=3, hidden=2, heads=2)
    optimizer = adam(network, spec)
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
    assert len(adam(network, RunSpec()).param_groups) == 1


@pytest.mark.parametrize("name", ["none", "plateau", "cosine", "halve"])
def test_the_state_of_every_schedule_survives_json(name):
    spec = RunSpec(schedule=name, epochs=4)
    states = []
    for _ in range(2):
        network = nn.Linear(2, 2)
        optimizer = adam(network, spec)
        scheduler = schedule(spec, optimizer)
        if scheduler is None:
            assert name == "none"
            return
        if states:
            scheduler.load_state_dict(states[0])
        else:
            states.append(json.loads(json.dumps(without_infinities(scheduler.state_dict()), allow_nan=False)))
        states.append(without_infinities(scheduler.state_dict()))
    assert json.loads(json.dumps(states[-1])) == states[0]


@pytest.mark.parametrize("select, course", [("train_score", [0.5] * 30), ("val_loss", [2.0] * 30)])
def test_halve_halves_after_ten_evaluations_without_a_gain(select, course):
    spec = RunSpec(schedule="halve", select=select, lr=0.8)
    optimizer = adam(nn.Linear(2, 2), spec)
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
