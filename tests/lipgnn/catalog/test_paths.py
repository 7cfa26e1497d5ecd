from lipgnn.catalog.paths import PATH_LOSSES, PREDICTIONS, TRANSITIONS, WALKS
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
