"""What the campaign of faults shares: processes at little cost, its counts, and what should come out."""

import pytest
from campaign import Tally, outcome


@pytest.fixture
def tally(request):
    """Counts for the table at the end: tally("kill -9 of train") -> Tally."""

    def begin(attack):
        tally = Tally(attack)
        # The very dictionary of its numbers, so that the report of the test has those of the end.
        request.node.user_properties.append(("campaign", vars(tally)))
        return tally

    return begin


@pytest.fixture
def kills(request):
    """How many hits are a share of the campaign: kills(0.5, short=4) -> 100; in the short form, 4."""

    def share(part, short):
        long = request.node.get_closest_marker("campaign")
        return max(1, round(part * request.config.getoption("--kills"))) if long else short

    return share


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """What comes out of a command, run once in a folder of its own: trained(launcher, *words) -> (outcome, Child)."""
    known = {}

    def of(launcher, *words):
        if words not in known:
            folder = tmp_path_factory.mktemp("undisturbed")
            child = launcher.run(folder, *words)
            assert child.wait() == 0, child.err.read_text()
            known[words] = outcome(folder), child
        return known[words]

    return of
