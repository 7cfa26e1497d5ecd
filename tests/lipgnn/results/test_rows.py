import csv
import io

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lipgnn.errors import DataError, LipgnnError, UsageError
from lipgnn.results.columns import COLUMNS, OPTIONAL, VALUES
from lipgnn.results.rows import read_results


def to_csv(rows, columns=COLUMNS):
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, columns, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


@pytest.fixture
def rows(result_row):
    done = [result_row(seed=seed, test_score=0.7 + 0.01 * seed) for seed in range(3)]
    numbers = dict.fromkeys(("best_epoch", "train_score", "val_score", "test_score", "last_test_score", "train_loss"))
    return [*done, result_row(seed=3, status="diverged") | numbers]


@pytest.fixture
def path(tmp_path, rows):
    (tmp_path / "results.csv").write_text(to_csv(rows))
    return tmp_path / "results.csv"


def test_store_and_csv_are_read_as_the_same_rows(rows, path, write_store, tmp_path):
    by_id = sorted(rows, key=lambda row: row["run_id"])
    for source in (path, tmp_path, write_store(tmp_path / "store", rows)):
        found = read_results([source])
        assert sorted(found.rows, key=lambda row: row["run_id"]) == by_id
        assert found.notes == []


def test_a_store_is_read_from_its_results_not_from_a_stale_table(rows, write_store, tmp_path):
    (write_store(tmp_path, rows) / "results.csv").write_text(to_csv(rows[:1]))
    assert len(read_results([tmp_path]).rows) == 4


def test_what_spreadsheets_do_to_a_file_does_no_harm(rows, path):
    text = to_csv(rows).replace("\n", "\r\n")
    path.write_bytes(b"\xef\xbb\xbf" + text.encode() + b"\r\n")
    assert read_results([path]).rows == rows
    path.write_text(to_csv(rows).replace(",20,10,", ",20.0,10.0,"))
    assert read_results([path]).rows == rows


def test_columns_may_be_in_any_order_and_unknown_ones_are_named(rows, path):
    path.write_text(to_csv([row | {"mood": "good"} for row in rows], ["mood", *reversed(COLUMNS)]))
    found = read_results([path])
    assert found.rows == rows
    assert "'mood'" in found.notes[0]


def test_the_same_run_twice_counts_once_even_from_another_machine(rows, path, write_store, tmp_path):
    other = [row | {"device": "cuda:0", "seconds": 1.0, "command": "again"} for row in rows]
    found = read_results([path, write_store(tmp_path / "other", other)])
    assert found.rows == rows
    assert found.notes == ["Rows that repeat a run and were left out: 4."]


def test_the_same_run_with_another_result_is_refused(rows, path):
    path.write_text(to_csv([*rows, rows[1] | {"test_score": 0.9}]))
    with pytest.raises(DataError) as caught:
        read_results([path])
    for part in (rows[1]["run_id"], "'test_score'", "0.71", "row 3", "0.9", "row 6"):
        assert part in caught.value.message


def test_a_run_computed_by_other_means_counts_once_where_its_scores_agree(rows, write_store, tmp_path):
    """Another number of threads rounds sums in another order: the bits differ, the run is the same."""
    slightly = {"test_score": -0.004, "val_score": 0.012, "val_loss": 0.3, "max_grad_norm": 1.0}
    other = [rows[0] | {"threads": 2, "best_epoch": 7, **{name: rows[0][name] + by for name, by in slightly.items()}}]
    stores = [write_store(tmp_path / name, found) for name, found in (("j1", rows), ("j2", other))]
    found = read_results(stores)
    assert sorted(found.rows, key=str) == sorted(rows, key=str)
    assert found.notes[0] == "Rows that repeat a run and were left out: 1."
    assert "number of threads, and differ in a score by up to 0.012" in found.notes[1]


@pytest.mark.parametrize(
    "change",
    [
        {"threads": 2, "test_score": 0.5},
        {"threads": None, "test_score": 0.5},
        {"kernel": "dgl", "parameters": 7},
        {"threads": 2, "fingerprint": "other"},
        {"threads": 2, "status": "diverged"},
        {"val_loss": 0.76},
        {"test_score": 0.705},
    ],
)
def test_a_run_whose_scores_do_not_agree_or_that_has_no_excuse_is_refused(rows, path, change):
    path.write_text(to_csv([*rows, rows[0] | change]))
    with pytest.raises(DataError, match="is there twice with another") as caught:
        read_results([path])
    assert ("computed with threads 1 and" in caught.value.message) == ("threads" in change)


@pytest.mark.parametrize("column", [name for name in COLUMNS if name not in OPTIONAL])
def test_a_missing_column_is_named(rows, path, column):
    header, below = to_csv([{**row} for row in rows]).split("\n", 1)
    path.write_text(",".join("other" if name == column else name for name in header.split(",")) + "\n" + below)
    with pytest.raises(DataError, match=f"column '{column}'"):
        read_results([path])


def test_options_that_change_nothing_need_no_column(rows, path):
    path.write_text(to_csv(rows, [name for name in COLUMNS if name not in OPTIONAL]))
    assert read_results([path]).rows == rows


@pytest.mark.parametrize(
    "column, value, problem",
    [
        *((column, "high", "'high' is not a") for column in (*VALUES, "layers", "lr", "seed")),
        ("layers", "2.5", "'2.5' is not a whole number"),
        ("layers", "", "empty"),
        ("dataset", "", "empty"),
        ("metric", "", "empty"),
        ("run_id", "", "empty"),
        ("test_score", "", "empty, though the run is done"),
        ("test_score", "75.3", "score 75.3 is not between 0 and 1"),
        ("val_score", "-0.1", "score -0.1"),
        ("test_score", "nan", "'nan' is not a finite number"),
        ("val_loss", "inf", "'inf' is not a finite number"),
        ("status", "fine", "'fine' is neither 'done' nor 'diverged'"),
    ],
)
def test_a_value_that_cannot_be_is_refused_with_its_row_and_column(rows, path, column, value, problem):
    rows[2][column] = value
    path.write_text(to_csv(rows))
    with pytest.raises(DataError) as caught:
        read_results([path])
    assert "row 4" in caught.value.message
    assert f"column {column!r}" in caught.value.message
    assert problem in caught.value.message


def test_a_wrong_type_in_a_result_file_is_refused(rows, write_store, tmp_path):
    rows[0]["layers"] = True
    with pytest.raises(DataError, match=r"result.json', column 'layers': True"):
        read_results([write_store(tmp_path, rows)])


@pytest.mark.parametrize(
    "change, problem",
    [
        (lambda text: "", "is empty"),
        (lambda text: text + "cora,public\n", f"row 6 has 2 cells, the header {len(COLUMNS)}"),
        (lambda text: text + '"cora', "line 6"),
        (lambda text: text.replace("split", "dataset", 1), "more than one column 'dataset'"),
        (lambda text: text + "x" * 200_000 + "\n", "field larger than field limit"),
    ],
)
def test_a_damaged_file_is_refused(rows, path, change, problem):
    path.write_text(change(to_csv(rows)))
    with pytest.raises(DataError) as caught:
        read_results([path])
    assert problem in caught.value.message


def test_bytes_that_are_no_text_are_refused(path):
    path.write_bytes(path.read_bytes().replace(b"cora", b"c\xffra"))
    with pytest.raises(DataError, match="not UTF-8"):
        read_results([path])


def test_a_failure_counts_only_without_a_result(rows, write_store, tmp_path):
    folder = write_store(tmp_path, rows)
    for name in (rows[0]["run_id"], "0" * 12):
        (folder / "runs" / name).mkdir(exist_ok=True)
        (folder / "runs" / name / "failure.json").write_text("{}")
    assert [run.id for run in read_results([folder]).failures()] == ["0" * 12]


def test_nothing_to_read_says_how_to_make_something(tmp_path):
    (tmp_path / "runs").mkdir()
    for source in (tmp_path, tmp_path / "absent", tmp_path / "absent.csv"):
        with pytest.raises(UsageError) as caught:
            read_results([source])
        assert "lipgnn train" in caught.value.hint


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_damage_is_averaged_or_ends_in_a_traceback(rows, path, data):
    content = to_csv(rows).encode()
    start = data.draw(st.integers(0, len(content)))
    stop = data.draw(st.integers(start, min(start + 40, len(content))))
    path.write_bytes(content[:start] + data.draw(st.binary(max_size=8)) + content[stop:])
    try:
        found = read_results([path])
    except LipgnnError as error:
        assert error.exit_code in (2, 4)
    else:
        for row in found.rows:
            assert row["status"] == "diverged" or 0 <= row["test_score"] <= 1
