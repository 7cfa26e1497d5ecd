"""Two real processes that exchange gradients on gloo, each kind of compression and several buckets."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from exchanging import KINDS, RATE, STEPS, data_of, flat, network_of
from torch import nn

SUPPORT = Path(__file__).parents[3] / "support" / "exchanging.py"
SIZE = 12 * 40 + 40 + 40 * 20 + 20 + 20 * 3 + 3
KEPT = math.ceil(0.05 * SIZE)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What both workers found."""
    folder = tmp_path_factory.mktemp("workers")
    words = [[sys.executable, str(SUPPORT), str(rank), str(folder / "store")] for rank in (0, 1)]
    environ = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    workers = [
        subprocess.Popen([*words[rank], str(folder / str(rank))], env=environ, stderr=subprocess.PIPE)
        for rank in (0, 1)
    ]
    for worker in workers:
        _, errors = worker.communicate(timeout=300)
        assert worker.returncode == 0, errors.decode()[-2000:]
    return [json.loads((folder / str(rank)).read_text()) for rank in (0, 1)]


@pytest.fixture(scope="module")
def plain():
    """The weights after as many steps of one process on the data of both."""
    network = network_of()
    optimizer = torch.optim.SGD(network.parameters(), lr=RATE)
    both = [data_of(rank) for rank in (0, 1)]
    x, y = (torch.cat(parts) for parts in zip(*both, strict=True))
    for _ in range(STEPS):
        optimizer.zero_grad()
        nn.functional.cross_entropy(network(x), y).backward()
        optimizer.step()
    return flat(network)


@pytest.mark.parametrize(
    "name", [*(f"{kind} in one" for kind in KINDS), "topk:0.05 in several", "randk:0.05 in several"]
)
def test_replicas_stay_the_same(found, name):
    assert found[0][name]["weights"] == found[1][name]["weights"]


@pytest.mark.parametrize("kind", ["none", "topk:1000000"])
def test_all_coordinates_equal_one_process_on_all_data(found, plain, kind):
    torch.testing.assert_close(torch.tensor(found[0][f"{kind} in one"]["weights"]), plain, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", ["topk:0.05", "randk:0.05"])
def test_the_weights_differ_from_the_virtual_iterate_by_the_mean_memory(found, kind):
    """In buckets that torch groups anew after the first step: memory is of parameters."""
    both = [worker[f"{kind} briefly"] for worker in found]
    memory = sum(torch.tensor(worker["memory"], dtype=torch.float64) for worker in both) / 2
    difference = torch.tensor(both[0]["difference"], dtype=torch.float64)
    assert memory.norm() > 0.01
    assert (difference - memory).norm() <= 1e-5 * (1 + memory.norm())


def test_traffic_is_that_of_the_formulas(found):
    sent = {kind: found[0][f"{kind} in one"]["sent"] for kind in KINDS}
    assert sent["none"] == 32 * SIZE
    assert sent["fp16"] == 16 * SIZE
    assert sent["topk:0.05"] == 2 * KEPT * (32 + math.ceil(math.log2(SIZE)))
    assert sent["randk:0.05"] == 32 * KEPT
    assert sent["qsgd:4"] <= 2 * math.ceil(3 * 16 * (16 + math.sqrt(SIZE)) + 32)


def test_power_sgd_sends_two_thin_matrices_for_every_large_one(found):
    """Rank 1 of 40 × 12 and 20 × 40, the rest as it is, after two steps in which all is sent."""
    thin = (40 + 12) + (20 + 40) + (3 + 20 if 2 * (3 + 20) < 3 * 20 else 60) + 40 + 20 + 3
    expected = 32 * (2 * SIZE + (STEPS - 2) * thin) / STEPS
    assert found[0]["powersgd:1 in one"]["sent"] == pytest.approx(expected)


def test_less_is_sent_and_as_much_is_learned(found):
    dense = found[0]["none in one"]["loss"]
    for kind in ("topk:0.05", "qsgd:4", "fp16", "powersgd:1"):
        assert found[0][f"{kind} in one"]["loss"] < 2 * dense + 0.05, kind
