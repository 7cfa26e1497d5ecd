import pytest

from lipgnn.results.labels import add_labels
from lipgnn.results.store import Store
from lipgnn.spec.run import RunSpec


@pytest.fixture
def two_runs(tmp_path, result_row):
    """The store of the working folder with a finished run, called best, and one that failed."""
    store = Store(tmp_path / "results")
    for layers, run_id in enumerate(("aa1100000000", "ab2200000000"), start=1):
        store.run(run_id).begin(RunSpec(layers=layers), "f")
    store.run("aa1100000000").finish(result_row(**RunSpec(layers=1).to_dict(), run_id="aa1100000000"))
    store.run("ab2200000000").fail("no memory left", 3)
    add_labels(store.run("aa1100000000").path, name="best")
    return store
