import csv
import json

import pytest

from lipgnn.errors import DataError, UsageError
from lipgnn.results.columns import COLUMNS, OPTIONAL
from lipgnn.results.store import BEST, LAST_GOOD, Store
from lipgnn.spec.run import RunSpec


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "results")


@pytest.fixture
def finished(store, result_row):
    """A store with two finished runs, written in the other order of their specifications."""
    for layers, run_id in ((9, "aa1100000000"), (2, "ab2200000000")):
        spec = RunSpec(layers=layers)
        store.run(run_id).begin(spec, "f")
        store.run(run_id).finish(result_row(**spec.to_dict(), run_id=run_id))
    return store


def test_the_csv_is_a_view_with_full_precision(finished):
    finished.rebuild_csv()
    first = finished.csv_path.read_bytes()
    finished.csv_path.unlink()
    finished.rebuild_csv()
    assert finished.csv_path.read_bytes() == first
    rows = list(csv.DictReader(finished.csv_path.read_text().splitlines()))
    assert [row["layers"] for row in rows] == ["2", "9"]
    assert tuple(rows[0]) == tuple(name for name in COLUMNS if name not in OPTIONAL)
    assert float(rows[0]["lr"]) == RunSpec().lr


def test_no_cell_of_the_csv_is_a_formula(store, result_row):
    spec = RunSpec(dataset="=HYPERLINK(1)")
    store.run("ab" + "0" * 10).begin(spec, "f")
    store.run("ab" + "0" * 10).finish(result_row(**spec.to_dict(), run_id="ab" + "0" * 10))
    store.rebuild_csv()
    assert store.csv_path.read_text().splitlines()[1].startswith("'=HYPERLINK(1),")


def test_results_come_one_by_one_and_all_in_order(finished):
    assert [row["run_id"] for row in finished.finished()] == ["aa1100000000", "ab2200000000"]
    assert [row["run_id"] for row in finished.results()] == ["ab2200000000", "aa1100000000"]


def test_no_reader_of_a_store_meets_a_number_that_is_none(finished):
    path = finished.run("ab2200000000").result_path
    path.write_text(path.read_text().replace('"layers": 2', '"layers": "two"'))
    for read in (finished.states, finished.results, finished.rebuild_csv, finished.run("ab2200000000").result):
        with pytest.raises(DataError, match="column 'layers': 'two' is not a whole number"):
            read()


def test_runs_are_found_by_the_start_of_their_id(finished):
    assert finished.find("aa").id == "aa1100000000"
    with pytest.raises(UsageError, match="ambiguous: aa1100000000, ab2200000000"):
        finished.find("a")


def test_a_folder_is_a_run_wherever_it_lies(finished, tmp_path):
    elsewhere = tmp_path / "copied"
    elsewhere.mkdir()
    assert finished.find(str(elsewhere)).path == elsewhere


def test_a_model_is_that_of_a_run_or_a_file_itself(finished):
    with pytest.raises(DataError, match="holds no best"):
        finished.find_model("aa")
    model = finished.run("aa1100000000").best_path
    model.touch()
    for reference in ("aa", str(model.parent), str(model)):
        assert finished.find_model(reference) == model
    with pytest.raises(UsageError, match="No run"):
        finished.find_model("ff")


@pytest.mark.parametrize("prefix", ["ff", "", "../aa1100000000", "*", "aa1?"])
def test_other_references_find_nothing_and_list_what_there_is(finished, prefix):
    with pytest.raises(UsageError, match="No run") as caught:
        finished.find(prefix)
    assert "aa1100000000, ab2200000000" in caught.value.hint


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"schema": 99}'])
def test_a_damaged_result_is_named(finished, content):
    path = finished.run("aa1100000000").result_path
    path.write_text(content)
    with pytest.raises(DataError) as caught:
        finished.results()
    assert str(path) in caught.value.message


def test_a_result_without_a_column_is_named(finished):
    path = finished.run("aa1100000000").result_path
    content = json.loads(path.read_text())
    del content["val_score"]
    path.write_text(json.dumps(content))
    with pytest.raises(DataError, match="has no 'val_score'"):
        finished.results()


@pytest.mark.parametrize("name", ["a" * 300, "a/" * 4000, "a\0b", "\ud800"], ids=["long", "deep", "nul", "surrogate"])
def test_a_name_that_no_folder_can_have_is_refused(tmp_path, name):
    with pytest.raises(UsageError, match="Cannot look for results") as caught:
        Store(tmp_path / name)
    assert "--results" in caught.value.hint


@pytest.mark.parametrize("run_id", ["", "ab", "../../outside", "A" * 12, "0" * 13, "0" * 11 + "\n", "/" * 12])
def test_what_is_no_id_leads_nowhere(store, run_id):
    with pytest.raises(DataError, match="is no id of a run"):
        store.run(run_id)


def test_a_result_in_a_folder_of_another_name_is_refused(finished):
    finished.run("aa1100000000").path.rename(finished.runs_path / "bb1100000000")
    with pytest.raises(DataError, match="'aa1100000000'; the folder of a run has its id for a name"):
        finished.results()


@pytest.mark.parametrize(
    ("kept", "at", "found"),
    [
        (("best",), BEST, "best"),
        (("best", "last-good"), BEST, "best"),
        (("best", "last-good"), LAST_GOOD, "last-good"),
        # It diverged before an epoch could be selected.
        (("last-good",), None, "last-good"),
        (("best", "last-good"), None, "best"),
        (("last-good",), LAST_GOOD, "last-good"),
    ],
)
def test_the_model_of_a_run_is_that_of_the_state_asked_for(finished, kept, at, found):
    run = finished.run("ab2200000000")
    for name in kept:
        (run.path / f"{name}.safetensors").touch()
    assert finished.find_model("ab22", at) == run.path / f"{found}.safetensors"


def test_what_was_never_selected_is_not_taken_for_the_best(finished):
    finished.run("ab2200000000").last_good_path.touch()
    with pytest.raises(DataError, match="diverged before an epoch could be selected"):
        finished.find_model("ab22")


def test_only_runs_that_diverged_have_a_last_good_state(finished):
    finished.run("ab2200000000").best_path.touch()
    with pytest.raises(UsageError, match="keeps no last good state"):
        finished.find_model("ab22", LAST_GOOD)


def test_a_model_file_that_is_not_there_is_no_run(finished):
    with pytest.raises(UsageError, match=r"There is no file 'nofile\.safetensors'"):
        finished.find_model("nofile.safetensors")


def test_a_file_is_no_store(tmp_path):
    (tmp_path / "afile").write_text("")
    with pytest.raises(UsageError, match="is a file, and a store of results is a folder"):
        Store(tmp_path / "afile")
