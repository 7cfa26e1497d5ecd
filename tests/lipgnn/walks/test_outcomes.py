"""What is made of outcomes; the outcomes themselves are compared in tests/lipgnn/tasks/batches/test_windows.py."""

import pytest
import torch
from walkers import FOUR, all_paths, draw_logits, ends, make

from lipgnn.walks import EdgePaths
from lipgnn.walks.outcomes import LEAST, OUTCOMES, Scene, loss_of, measures_of, outcomes


def scene_of(path, target, horizon):
    edges = torch.tensor(path)
    taken = EdgePaths(edges, torch.tensor([-1, *path[:-1]]), torch.zeros_like(edges), 1)
    start = torch.eye(4, dtype=torch.float64)[FOUR[path[0]][0]]
    branching = torch.tensor([True] + [False] * (len(path) - 1))
    return Scene(make(FOUR, 4, horizon), taken, start, target, branching, torch.arange(4))


@pytest.mark.parametrize("kind", ["plain", "nb"])
def test_outcomes_of_a_window_are_those_of_its_enumerated_paths(kind):
    path, logits = (0, 2, 5), draw_logits(1, len(FOUR))
    target = torch.tensor([0, 0.25, 0, 0.75]).double()
    row = dict(zip(OUTCOMES, outcomes(scene_of(path, target, 3), logits, "target", kind)[0].tolist(), strict=True))
    mass = torch.tensor(ends(FOUR, logits.tolist(), [1, 0, 0, 0], 3, kind)).double()
    likelihood = dict(all_paths(FOUR, logits.tolist(), 0, 3, kind))[path]
    assert row["loss"] == pytest.approx(-float((mass * target).sum().log()))
    assert row["nll"] == pytest.approx(-float(torch.tensor(likelihood).log()))
    assert row["target_probability"] == pytest.approx(float(mass[[1, 3]].sum()))
    assert row["top1"] == float(mass.argmax() in (1, 3)) and row["top5"] == 1
    assert (row["decisions"], row["decisions_deg3"], row["horizon"]) == (3, 1, 3)


def test_what_is_impossible_has_a_finite_loss():
    logits = draw_logits(1, len(FOUR)).requires_grad_()
    there_and_back = scene_of((0, 1), torch.tensor([0, 0, 0, 1.0]).double(), 1)
    losses = [loss_of(there_and_back, logits, loss, "nb") for loss in ("nll-nb", "target")]
    likelihood, target = (float(loss.detach()) for loss in losses)
    assert likelihood > -LEAST and target == -LEAST
    sum(losses).sum().backward()
    assert logits.grad.isfinite().all()


def test_measures_pool_decisions_and_average_windows():
    rows = torch.zeros(2, len(OUTCOMES))
    for name, values in {"hits": (1, 2), "decisions": (1, 9), "hits_deg3": (1, 0), "decisions_deg3": (1, 3)}.items():
        rows[:, OUTCOMES.index(name)] = torch.tensor(values).float()
    rows[:, OUTCOMES.index("nll")] = torch.tensor([1.0, 4.0])
    found = measures_of(rows)
    assert (found["choice_accuracy"], found["choice_accuracy_deg3"], found["path_nll"]) == (0.3, 0.25, 2.5)
