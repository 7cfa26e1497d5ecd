"""How a run ended: planted courses in which a verdict must and must not be given, and remedies that fit the cause."""

import math

import pytest

from lipgnn.diagnose.course import (
    LITTLE_LEARNED,
    STILL_FALLING,
    Course,
    divergence_of,
    judge_course,
    late_pace,
    options_after,
)
from lipgnn.results.store import LAST_GOOD, Store
from lipgnn.spec.run import RunSpec
from lipgnn.training.loop import train

SPEC = RunSpec(dataset="planted", epochs=100, lr=0.01)
CHANCE = 0.25


def course(loss, score=0.3, epochs=100, **result):
    """The course of a run whose loss is a function of the epoch."""
    log = [{"epoch": epoch, "train_loss": loss(epoch), "train_score": score} for epoch in range(1, epochs + 1)]
    return Course({"status": "done", "epochs_run": epochs, **SPEC.to_dict(), **result}, log)


def names(found, spec=SPEC, chance=CHANCE):
    return [finding.name for finding in judge_course(found, spec, chance)]


def diverged(**result):
    row = {"diverged_at": "output of the layer 3", "epochs_run": 4, "max_grad_norm": 12.0, **result}
    return course(lambda epoch: 1.0, status="diverged", **row)


@pytest.mark.parametrize("rate", [0.1, 1.0, 3.0, 5.0])
def test_the_late_pace_is_that_of_the_formula(rate):
    """Of exp(−rate t) on 0..1, the fall of the last fifth over a fifth of the whole one."""
    found = late_pace(course(lambda epoch: math.exp(-rate * (epoch - 1) / 100), epochs=101).log)
    expected = (math.exp(-0.8 * rate) - math.exp(-rate)) / 0.2 / (1 - math.exp(-rate))
    assert found == pytest.approx(expected, rel=1e-9)


def test_the_late_pace_counts_epochs_and_not_evaluations():
    log = [line for line in course(lambda epoch: 2 - epoch / 100).log if line["epoch"] in (1, 2, 50, 100)]
    assert late_pace(log) == pytest.approx(1)


def test_a_loss_that_has_not_fallen_has_no_pace():
    assert late_pace(course(lambda epoch: 1.0).log) is None
    assert late_pace(course(lambda epoch: 1.0 + epoch).log) is None
    assert late_pace(course(lambda epoch: 1.0, epochs=1).log) is None


@pytest.mark.parametrize(
    ("rate", "score", "said"),
    [
        # A loss on its way down, at chance and near it.
        (0.5, 0.25, True),
        (0.5, CHANCE + (1 - CHANCE) * LITTLE_LEARNED * 0.9, True),
        # Learned, though on its way down.
        (0.5, CHANCE + (1 - CHANCE) * LITTLE_LEARNED * 1.1, False),
        # At the bottom, though little is learned: more epochs do not help.
        (5.0, 0.25, False),
        # Rounding.
        (1e-9, 0.25, False),
    ],
)
def test_undertrained_is_who_was_stopped_while_learning(rate, score, said):
    assert names(course(lambda epoch: math.exp(-rate * epoch / 100), score)) == ["undertrained"] * said


def test_the_threshold_of_the_pace_is_where_it_says():
    # exp(−r t) is late at half of its mean pace for r of about 1.6.
    paces = {rate: late_pace(course(lambda epoch, rate=rate: math.exp(-rate * epoch / 100)).log) for rate in (1.2, 2.2)}
    assert paces[2.2] < STILL_FALLING < paces[1.2]
    found = {rate: names(course(lambda epoch, rate=rate: math.exp(-rate * epoch / 100))) for rate in paces}
    assert found == {1.2: ["undertrained"], 2.2: []}


def test_who_ran_out_of_patience_or_whose_chance_is_unknown_is_not_undertrained():
    falling = course(lambda epoch: 2 - epoch / 100, epochs=60)
    assert names(falling) == []
    assert names(course(lambda epoch: 2 - epoch / 100), chance=None) == []
    assert names(course(lambda epoch: 2 - epoch / 100), chance=1.0) == []


def test_more_epochs_come_first_and_larger_steps_where_the_loss_hardly_falls():
    (finding,) = judge_course(course(lambda epoch: 2 - epoch / 100), SPEC, CHANCE)
    assert [option.words for option in finding.options] == ["--epochs 400"]
    assert "100 epochs" in finding.evidence and "chance (25.0%)" in finding.evidence
    (finding,) = judge_course(course(lambda epoch: 2 - epoch / 1e5), SPEC, CHANCE)
    assert [option.words for option in finding.options] == ["--epochs 400", "--lr 0.1"]


def test_only_after_a_step_is_a_smaller_one_a_remedy():
    later, at_once = diverged(diverged_untrained=False), diverged(diverged_untrained=True, epochs_run=0)
    (finding,) = judge_course(later, SPEC, CHANCE)
    assert (
        finding.name == "diverged" and "in epoch 5" in finding.evidence and "output of the layer 3" in finding.evidence
    )
    assert [option.words for option in finding.options] == ["--lr 0.002", "--clip 1"]
    (finding,) = judge_course(at_once, SPEC, CHANCE)
    assert "before its first step" in finding.evidence and "smaller learning rate changes nothing" in finding.evidence
    words = [option.words for option in finding.options]
    assert words and not any("--lr" in word or "--clip" in word for word in words)
    for option in finding.options:
        assert SPEC.with_values(**option.values) != SPEC


def test_a_row_of_an_earlier_version_is_judged_by_its_epochs():
    assert "first step" in judge_course(diverged(epochs_run=0), SPEC, None)[0].evidence
    assert "epoch 5" in judge_course(diverged(), SPEC, None)[0].evidence


def test_features_that_are_too_large_are_scaled_and_bad_weights_are_replaced():
    first = {"diverged_untrained": True, "epochs_run": 0}
    encoder = diverged(**first, diverged_at="output of the encoder").result
    assert [option.words for option in options_after(encoder, SPEC)] == ["--features standard"]
    given = SPEC.with_values(start="model:" + "0" * 16)
    found = diverged(**first, start=given.start)
    (finding,) = judge_course(found, given, None)
    assert finding.options == () and "weights that it starts from" in finding.evidence


def test_clipping_that_was_there_becomes_tighter():
    words = [option.words for option in options_after(diverged().result, SPEC.with_values(clip=0.5))]
    assert words == ["--lr 0.002", "--clip 0.1"]


def test_a_run_is_found_by_its_model(small_spec, load_for, tmp_path):
    store = Store(tmp_path / "results")
    wild = small_spec.with_values(layers=40, lr=1e3, norm="none", residual="identity", activation="none", epochs=50)
    (*_, finished) = train(wild, load_for(wild), store)
    run = store.run(finished.result["run_id"])
    path = store.find_model(run.id, LAST_GOOD)
    found = Course.of(path)
    assert (found.result["status"], len(found.log)) == ("diverged", found.result["epochs_run"])
    assert divergence_of(path).endswith("This model is its last good state.")
    assert divergence_of(run.best_path).endswith(f"the best of its epochs, {found.result['best_epoch']}.")
    assert Course.of(None) is None and Course.of(tmp_path / "model.safetensors") is None
    assert divergence_of(tmp_path / "model.safetensors") is None
