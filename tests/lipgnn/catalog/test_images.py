from lipgnn.catalog.images import READOUTS, SYMMETRIES
from lipgnn.spec.run import FIELDS


def test_every_choice_of_the_options_is_described():
    for name, catalog in {"group": SYMMETRIES, "readout": READOUTS}.items():
        assert FIELDS[name].metadata["choices"] == catalog
        assert all(entry.description for entry in catalog.values())


def test_orders_of_the_plane_groups():
    assert {name: entry.order for name, entry in SYMMETRIES.items()} == {"z2": 1, "mirror": 2, "p4": 4, "p4m": 8}
