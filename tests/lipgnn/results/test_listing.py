import os

import pytest

from lipgnn.errors import DataError, UsageError
from lipgnn.results.labels import add_labels
from lipgnn.results.listing import choose_runs, damage_of, list_runs
from lipgnn.results.store import Store
from lipgnn.spec.run import RunSpec

DONE, FAILED, RUNNING, STOPPED = "aa1100000000", "ab2200000000", "ac3300000000", "ad4400000000"


@pytest.fixture
def store(tmp_path, result_row):
    store = Store(tmp_path / "results")
    for layers, run_id in enumerate((DONE, FAILED, RUNNING, STOPPED), start=1):
        store.run(run_id).begin(RunSpec(layers=layers), "f")
    store.run(DONE).finish(result_row(**RunSpec(layers=1).to_dict(), run_id=DONE, test_score=0.5))
    store.run(FAILED).fail("no memory", 3)
    store.run(STOPPED).append_log({"epoch": 7, "train_score": 0.1, "val_score": 0.25})
    (store.run(RUNNING).path / "claim").write_text("{}")
    add_labels(store.run(DONE).path, name="best", tags=["paper"])
    return store


def test_runs_are_listed_whether_they_have_a_result_or_not(store):
    rows = {row["run_id"]: row for row in list_runs(store)}
    states = {run_id: row["status"] for run_id, row in rows.items()}
    assert states == {DONE: "done", FAILED: "failed", RUNNING: "running", STOPPED: "unfinished"}
    assert (rows[DONE]["name"], rows[DONE]["tags"], rows[DONE]["test_score"]) == ("best", ("paper",), 0.5)
    assert (rows[STOPPED]["epochs_run"], rows[STOPPED]["val_score"], rows[STOPPED]["layers"]) == (7, 0.25, 4)


def test_the_run_that_changed_last_comes_last_and_labels_are_no_change(store):
    for seconds, run_id in enumerate((STOPPED, DONE, RUNNING, FAILED)):
        for path in store.run(run_id).path.iterdir():
            os.utime(path, (seconds, seconds))
    add_labels(store.run(STOPPED).path, tags=["old"])
    assert [row["run_id"] for row in list_runs(store)] == [STOPPED, DONE, RUNNING, FAILED]


def test_conditions_tags_and_order_choose(store):
    runs = list_runs(store)

    def ids(**choice):
        return [run["run_id"] for run in choose_runs(runs, **choice)]

    assert ids(where=["status=failed"]) == [FAILED]
    assert ids(where=["layers=1,4"], sort="-layers") == [STOPPED, DONE]
    assert ids(where=["layers=1.0"], tags=["paper"]) == [DONE]
    assert ids(tags=["other"]) == []
    assert ids(sort="test_score")[0] == DONE
    assert ids(where=["status=diverged"]) == [] and choose_runs([], where=["layers=7"]) == []
    assert ids(where=["tags=paper"]) == [DONE]
    with pytest.raises(UsageError, match="Unknown value of status 'failled'"):
        ids(where=["status=failled"])
    for wrong in ({"where": ["layers=7"]}, {"where": ["layers"]}, {"where": ["depth=3"]}, {"sort": "depth"}):
        with pytest.raises(UsageError):
            ids(**wrong)


def test_an_empty_store_has_no_runs(tmp_path):
    assert list_runs(Store(tmp_path / "none")) == []


def test_damaged_runs_are_listed_as_such(store):
    store.run(STOPPED).spec_path.write_text("[]")
    store.run(DONE).result_path.write_text("{")
    states = {row["run_id"]: row["status"] for row in list_runs(store)}
    assert states == {DONE: "damaged", FAILED: "failed", RUNNING: "running", STOPPED: "damaged"}
    assert "it holds something else" in damage_of(store.run(STOPPED)) and damage_of(store.run(FAILED)) is None


def test_damaged_labels_are_named_in_words(store):
    (store.run(DONE).path / "labels.json").write_text("{}")
    with pytest.raises(DataError, match="it has no 'name'"):
        list_runs(store)


def test_a_run_that_failed_before_its_options_were_written_is_listed(store):
    store.run("ae5500000000").fail("no time", 0)
    (row,) = choose_runs(list_runs(store), where=["run_id=ae5500000000"])
    assert (row["status"], row["layers"]) == ("failed", None)
    assert [run.id for run in store.runs()][-1] == "ae5500000000"
