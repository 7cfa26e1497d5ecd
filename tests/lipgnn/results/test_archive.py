from dataclasses import replace

import numpy as np
import pytest

from lipgnn.errors import DataError, UsageError
from lipgnn.results import archive
from lipgnn.results.archive import (
    add_to_archive,
    archive_path,
    kept_folder,
    read_all_archives,
    read_archive,
    results_of_study,
)
from lipgnn.results.recordings import GRADIENTS, read_recording, write_recording
from lipgnn.results.store import Store
from lipgnn.spec.study import study_of

STUDY = study_of(
    "trial", {"grid": {"seed": [1, 0]}, "small": [{"fixed": {"layers": 2}}], "paper": [{"fixed": {"layers": 4}}]}
)


@pytest.fixture
def rows(result_row):
    """A row for every run of the study, in its order: seeds 1 and 0 of two layers, then of four."""
    specs = [spec for choice in STUDY.choices() for spec in choice.runs({})[0]]
    return [result_row(**{**spec.to_dict(), "device": "cpu"}) for spec in specs]


def order(path):
    return [(row["layers"], row["seed"]) for row in read_archive(path)]


def test_no_file_has_no_rows(tmp_path):
    assert read_archive(archive_path(tmp_path, "trial")) == []
    assert add_to_archive(tmp_path, STUDY) == (tmp_path / "studies" / "trial.csv", 0)
    assert not (tmp_path / "studies").exists()


def test_rows_come_in_the_order_of_the_study_and_go_through_the_file_unchanged(tmp_path, rows, write_store):
    write_store(tmp_path, rows[::-1])
    path, count = add_to_archive(tmp_path, STUDY)
    assert count == 4
    assert order(path) == [(2, 1), (2, 0), (4, 1), (4, 0)]
    assert read_archive(path) == [{name: row.get(name) for name in read_archive(path)[0]} for row in rows]
    before = path.read_bytes()
    add_to_archive(tmp_path, STUDY)
    assert path.read_bytes() == before


def test_stores_of_two_clones_add_up_and_nothing_is_dropped(tmp_path, rows, result_row, write_store):
    """The second clone has the file of the first and other runs; a row that is no part of the study stays, last."""
    foreign = result_row(layers=9)
    write_store(tmp_path / "one", [*rows[:2]])
    path, _ = add_to_archive(tmp_path / "one", STUDY)
    second = archive_path(tmp_path / "two", "trial")
    second.parent.mkdir(parents=True)
    header, *lines = path.read_text().splitlines(keepends=True)
    second.write_text(
        "".join([header, lines[0].replace(",2,8,8,", ",9,8,8,").replace(rows[0]["run_id"], foreign["run_id"])])
    )
    assert order(second) == [(9, 1)]
    write_store(tmp_path / "two", [rows[3], result_row(layers=2, seed=0, lr=0.5)])
    assert add_to_archive(tmp_path / "two", STUDY)[1] == 2
    assert order(second) == [(4, 0), (9, 1)]


def test_an_archived_row_gives_way_only_to_a_run_computed_anew(tmp_path, rows, write_store):
    write_store(tmp_path / "one", rows[:1])
    path, _ = add_to_archive(tmp_path / "one", STUDY)
    other = archive_path(tmp_path / "two", "trial")
    other.parent.mkdir(parents=True)
    other.write_bytes(path.read_bytes())
    write_store(tmp_path / "two", [{**rows[0], "test_score": 0.75}])
    add_to_archive(tmp_path / "two", STUDY)
    assert read_archive(other)[0]["test_score"] == rows[0]["test_score"]
    add_to_archive(tmp_path / "two", STUDY, anew=[rows[0]["run_id"]])
    assert read_archive(other)[0]["test_score"] == 0.75


def test_a_damaged_file_is_refused_and_left_as_it_is(tmp_path, rows, write_store):
    write_store(tmp_path, rows)
    path, _ = add_to_archive(tmp_path, STUDY)
    path.write_text(path.read_text()[:-40])
    damaged = path.read_bytes()
    with pytest.raises(DataError, match="row 5"):
        add_to_archive(tmp_path, STUDY)
    assert path.read_bytes() == damaged


def test_what_runs_recorded_is_archived_in_a_folder_beside_the_rows(tmp_path, rows, write_store):
    write_store(tmp_path, rows)
    arrays = {name: np.full((2, 3), 10.0, np.float32) for name in GRADIENTS} | {"epochs": np.array([1, 2])}
    write_recording(Store(tmp_path).run(rows[0]["run_id"]).recording_path("gradients"), arrays)
    add_to_archive(tmp_path, STUDY)
    assert not (tmp_path / "studies" / "trial").exists()
    add_to_archive(tmp_path, replace(STUDY, record=("gradients",)))
    (file,) = (tmp_path / "studies" / "trial").iterdir()
    assert file.stem == rows[0]["run_id"]
    np.testing.assert_allclose(read_recording(file)["weight_norm"], 10.0, rtol=0.01)


def test_all_studies_are_read_together(tmp_path, rows, write_store):
    write_store(tmp_path, rows)
    add_to_archive(tmp_path, STUDY)
    (tmp_path / "studies" / "second.csv").write_bytes((tmp_path / "studies" / "trial.csv").read_bytes())
    assert len(read_all_archives(tmp_path)) == 8


def test_scales_are_never_mixed_and_the_first_with_results_is_shown(tmp_path, rows, result_row, write_store):
    write_store(tmp_path, [*rows, result_row(layers=2, seed=0, lr=0.5)])
    found, choice = results_of_study(STUDY, tmp_path)
    assert (choice.scale, [(row["layers"], row["seed"]) for row in found.rows]) == ("small", [(2, 0), (2, 1)])
    found, choice = results_of_study(STUDY, tmp_path, scale="paper")
    assert (choice.scale, {row["layers"] for row in found.rows}) == ("paper", {4})
    write_store(tmp_path / "large", rows[2:])
    assert results_of_study(STUDY, tmp_path / "large")[1].scale == "paper"
    assert results_of_study(STUDY, tmp_path / "nowhere", [tmp_path / "large"])[1].scale == "paper"


def test_archived_rows_go_before_the_same_runs_of_the_store(tmp_path, rows, write_store):
    write_store(tmp_path / "one", rows[:1])
    path, _ = add_to_archive(tmp_path / "one", STUDY)
    second = archive_path(tmp_path / "two", "trial")
    second.parent.mkdir(parents=True)
    second.write_bytes(path.read_bytes())
    write_store(tmp_path / "two", [{**rows[0], "test_score": 0.75}, rows[1]])
    found, _ = results_of_study(STUDY, tmp_path / "two")
    assert [row["test_score"] for row in found.rows] == [0.5, 0.5]
    assert [store.root for store in found.stores] == [tmp_path / "two"]


def test_a_plain_grid_shows_all_rows_of_its_file(tmp_path, rows, write_store):
    write_store(tmp_path, rows)
    add_to_archive(tmp_path, STUDY)
    plain = study_of("plain", {"grid": {"layers": [3]}})
    (tmp_path / "studies" / "trial.csv").rename(tmp_path / "studies" / "plain.csv")
    assert len(results_of_study(plain, tmp_path)[0].rows) == 4


def test_without_results_the_command_that_computes_them_is_told(tmp_path, rows, write_store):
    with pytest.raises(UsageError) as caught:
        results_of_study(STUDY, tmp_path)
    assert caught.value.hint == "Compute them: lipgnn sweep --study trial --scale small"
    write_store(tmp_path, rows[:2])
    with pytest.raises(UsageError, match="No results of study 'trial'") as caught:
        results_of_study(STUDY, tmp_path, scale="paper")
    assert caught.value.hint.endswith("--scale paper")


def test_the_rows_that_ship_take_the_place_of_an_archive_that_is_not_there(tmp_path, rows, write_store, monkeypatch):
    write_store(tmp_path / "one", rows[:2])
    path, _ = add_to_archive(tmp_path / "one", STUDY)
    monkeypatch.setattr(archive, "kept_folder", lambda: path.parent)
    found, choice = results_of_study(STUDY, tmp_path / "two")
    assert [row["run_id"] for row in found.rows] == [row["run_id"] for row in rows[:2]] and choice.scale == "small"
    assert found.notes == ["The rows are those that ship with lipgnn."] and found.files == (path,)
    write_store(tmp_path / "two", rows[2:3])
    assert len(results_of_study(STUDY, tmp_path / "two", scale="paper")[0].rows) == 1
    # Runs of one's own speak alone, archived or not.
    for _ in range(2):
        found, choice = results_of_study(STUDY, tmp_path / "two")
        assert len(found.rows) == 1 and choice.scale == "paper" and found.notes == []
        with pytest.raises(UsageError, match="No results of study 'trial'"):
            results_of_study(STUDY, tmp_path / "two", scale="small")
        add_to_archive(tmp_path / "two", STUDY)


def test_the_rows_that_ship_are_those_of_the_checkout(root):
    assert kept_folder() == root / "results" / "studies" and (kept_folder() / "missing.csv").exists()
