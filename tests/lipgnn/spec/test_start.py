import pytest

from lipgnn.errors import UsageError
from lipgnn.spec.run import RunSpec
from lipgnn.spec.start import check_start, check_start_name, model_start

SHARED = {"model": "gt", "head_sharing": "collab", "shared_dim": 16}
DIGEST = "0123456789abcdef" * 4


def test_a_model_is_told_by_the_first_digits_of_its_digest():
    assert model_start(DIGEST) == "model:0123456789abcdef"
    check_start_name(model_start(DIGEST))
    check_start(model_start(DIGEST), 0, "none")


@pytest.mark.parametrize("start", ["nowhere", "model:", "model:0123", "model:0123456789ABCDEF"])
def test_what_is_no_start_is_refused(start):
    with pytest.raises(UsageError, match="start must be scratch or compressed") as caught:
        check_start_name(start)
    assert "--from RUN|FILE" in caught.value.hint


@pytest.mark.parametrize(
    "start, finetune, sharing, words",
    [
        ("compressed", 0, "none", "--head-sharing collab"),
        ("compressed", 5, "mqa", "--head-sharing collab"),
        ("scratch", 5, "collab", "--start compressed"),
        (model_start(DIGEST), 5, "collab", "--start compressed"),
    ],
)
def test_starts_that_do_not_fit_are_refused(start, finetune, sharing, words):
    with pytest.raises(UsageError) as caught:
        check_start(start, finetune, sharing)
    assert words in f"{caught.value.message} {caught.value.hint}"


def test_a_compressed_run_has_epochs_of_its_own_and_a_plain_run_before_it():
    spec = RunSpec(**SHARED, start="compressed", finetune=7, epochs=90)
    assert (spec.own_epochs, spec.plain.own_epochs) == (7, 90)
    assert spec.plain == RunSpec(model="gt", epochs=90)
    assert RunSpec(model="gt").own_epochs == RunSpec(model="gt").epochs


def test_an_old_run_keeps_its_id_and_every_start_has_its_own():
    specs = [
        RunSpec(model="gt"),
        RunSpec(**SHARED),
        RunSpec(**SHARED, start="compressed"),
        RunSpec(**SHARED, start="compressed", finetune=5),
        RunSpec(**SHARED, start=model_start(DIGEST)),
    ]
    assert len({spec.run_id("f" * 16) for spec in specs}) == len(specs)
    assert RunSpec(model="gt", start="scratch", finetune=0).run_id("f" * 16) == specs[0].run_id("f" * 16)
