from lipgnn.catalog.paths import PATH_LOSSES, PREDICTIONS, TRANSITIONS, WALKS, horizon_words
from lipgnn.spec.run import FIELDS


def test_every_choice_of_the_options_is_described():
    for name, catalog in {
        "predict": PREDICTIONS,
        "walk": WALKS,
        "loss": PATH_LOSSES,
        "transitions": TRANSITIONS,
    }.items():
        assert FIELDS[name].metadata["choices"] == catalog
        assert all(entry.description for entry in catalog.values())


def test_horizons_say_whether_they_know_the_answer():
    assert "as many steps as the true path" in horizon_words("given")
    assert horizon_words("shortest:1.25").startswith("shortest:1.25, 1.25 times")
