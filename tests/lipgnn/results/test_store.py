import csv
import json

import pytest

from lipgnn.errors import DataError, UsageError
from lipgnn.results.claims import Held
from lipgnn.results.store import COLUMNS, RESULT_FIELDS, Store
from lipgnn.spec.run import FIELDS, RunSpec


def result_of(spec, run_id, **changes):
    values = dict.fromkeys(RESULT_FIELDS, 0.5) | {"run_id": run_id, "status": "done", "command": "lipgnn train"}
    return {**spec.to_dict(), **values, **changes}


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "results")


@pytest.fixture
def finished(store):
    """A store with two finished runs, written in the other order of their specifications."""
    for layers, run_id in ((9, "aa11"), (2, "ab22")):
        spec = RunSpec(layers=layers)
        store.run(run_id).begin(spec, "f")
        store.run(run_id).finish(result_of(spec, run_id))
    return store


def test_the_columns_are_those_of_the_contract():
    contract = (
        "run_id status metric epochs_run best_epoch epochs_to_90 train_score val_score test_score last_test_score "
        "train_loss val_loss max_grad_norm parameters seconds seconds_per_epoch peak_memory_mb fingerprint version "
        "command"
    )
    assert " ".join(RESULT_FIELDS) == contract
    assert (*FIELDS, *RESULT_FIELDS) == COLUMNS


def test_a_run_says_what_it_computes(store):
    spec = RunSpec(layers=4, norm="lip+pair")
    store.run("ab").begin(spec, "f")
    written = json.loads(store.find("ab").spec_path.read_text())
    assert (RunSpec.from_mapping(written["spec"]), written["fingerprint"]) == (spec, "f")


def test_the_first_result_stays(finished):
    finished.run("aa11").finish(result_of(RunSpec(layers=9), "aa11", test_score=0.9))
    assert finished.run("aa11").result()["test_score"] == 0.5


def test_the_csv_is_a_view_with_full_precision(finished):
    finished.rebuild_csv()
    first = finished.csv_path.read_bytes()
    finished.csv_path.unlink()
    finished.rebuild_csv()
    assert finished.csv_path.read_bytes() == first
    rows = list(csv.DictReader(finished.csv_path.read_text().splitlines()))
    assert [row["layers"] for row in rows] == ["2", "9"]
    assert tuple(rows[0]) == COLUMNS
    assert float(rows[0]["lr"]) == RunSpec().lr


def test_no_cell_of_the_csv_is_a_formula(store):
    spec = RunSpec(dataset="=HYPERLINK(1)")
    store.run("ab").begin(spec, "f")
    store.run("ab").finish(result_of(spec, "ab"))
    store.rebuild_csv()
    assert store.csv_path.read_text().splitlines()[1].startswith("'=HYPERLINK(1),")


def test_results_come_one_by_one_and_all_in_order_even_of_mixed_types(finished):
    assert [row["run_id"] for row in finished.finished()] == ["aa11", "ab22"]
    assert [row["run_id"] for row in finished.results()] == ["ab22", "aa11"]
    path = finished.run("ab22").result_path
    path.write_text(path.read_text().replace('"layers": 2', '"layers": "two"'))
    assert {row["layers"] for row in finished.results()} == {9, "two"}


def test_a_failed_attempt_leaves_a_note_that_success_removes(store):
    run = store.run("ab")
    run.begin(RunSpec(), "f")
    run.fail("out of memory", 3)
    assert json.loads(run.failure_path.read_text())["reason"] == "out of memory"
    assert (run.result(), store.failed()) == (None, ["ab"])
    run.finish(result_of(RunSpec(), "ab"))
    assert not run.failure_path.exists()


def test_runs_are_found_by_the_start_of_their_id(finished):
    assert finished.find("aa").id == "aa11"
    with pytest.raises(UsageError, match="ambiguous: aa11, ab22"):
        finished.find("a")


def test_a_folder_is_a_run_wherever_it_lies(finished, tmp_path):
    elsewhere = tmp_path / "copied"
    elsewhere.mkdir()
    assert finished.find(str(elsewhere)).path == elsewhere


def test_a_model_is_that_of_a_run_or_a_file_itself(finished):
    with pytest.raises(DataError, match="holds no best"):
        finished.find_model("aa")
    model = finished.run("aa11").best_path
    model.touch()
    for reference in ("aa", str(model.parent), str(model)):
        assert finished.find_model(reference) == model
    with pytest.raises(UsageError, match="No run"):
        finished.find_model("ff")


@pytest.mark.parametrize("prefix", ["ff", "", "../aa11", "*", "aa1?"])
def test_other_references_find_nothing_and_list_what_there_is(finished, prefix):
    with pytest.raises(UsageError, match="No run") as caught:
        finished.find(prefix)
    assert "aa11, ab22" in caught.value.hint


def test_a_torn_last_line_is_dropped_at_every_byte(store):
    run = store.run("ab")
    run.begin(RunSpec(), "f")
    for epoch in (1, 2, 3):
        run.append_log({"epoch": epoch, "loss": 0.25})
    whole = run.log_path.read_bytes()
    start_of_last = whole.rstrip(b"\n").rindex(b"\n") + 1
    for cut in range(start_of_last, len(whole)):
        run.log_path.write_bytes(whole[:cut])
        assert [record["epoch"] for record in run.read_log()] == [1, 2]
    run.rewind_log(2)
    run.append_log({"epoch": 3, "loss": 0.25})
    assert run.log_path.read_bytes() == whole


def test_damage_inside_the_log_is_an_error_with_its_line(store):
    run = store.run("ab")
    run.begin(RunSpec(), "f")
    run.log_path.write_bytes(b'{"epoch": 1}\n{"epo\n{"epoch": 3}\n')
    with pytest.raises(DataError, match="Line 2"):
        run.read_log()


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"schema": 99}'])
def test_a_damaged_result_is_named(finished, content):
    path = finished.run("aa11").result_path
    path.write_text(content)
    with pytest.raises(DataError) as caught:
        finished.results()
    assert str(path) in caught.value.message


def test_a_result_without_a_column_is_named(finished):
    path = finished.run("aa11").result_path
    content = json.loads(path.read_text())
    del content["val_score"]
    path.write_text(json.dumps(content))
    with pytest.raises(DataError, match="has no 'val_score'"):
        finished.results()


def test_a_run_is_claimed_by_one_at_a_time(store):
    run = store.run("ab")
    with run.claim(), pytest.raises(Held, match="Run ab is being computed by process"), run.claim():
        pass
    with run.claim():
        pass


def test_clearing_a_run_keeps_only_the_claim(finished):
    run = finished.run("aa11")
    with run.claim():
        run.clear()
        assert [path.name for path in run.path.iterdir()] == ["claim"]
