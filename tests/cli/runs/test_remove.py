import csv

KEPT, FAILED = "aa1100000000", "ab2200000000"


def test_a_run_is_removed_with_all_its_files_and_its_row(invoke, two_runs):
    assert invoke("runs", "rm", KEPT)[0] == 0
    assert not two_runs.run(KEPT).path.exists()
    assert two_runs.run(FAILED).path.exists()
    assert list(csv.DictReader(two_runs.csv_path.read_text().splitlines())) == []


def test_a_trial_removes_nothing(invoke, two_runs):
    code, out, _ = invoke("runs", "rm", "--where", "status=failed", "--dry-run")
    assert code == 0 and FAILED in out and KEPT not in out
    assert two_runs.run(FAILED).path.exists()
    assert invoke("runs", "rm", "--where", "status=failed")[0] == 0
    assert not two_runs.run(FAILED).path.exists() and two_runs.run(KEPT).path.exists()


def test_a_run_that_is_being_computed_stays(invoke, two_runs):
    run = two_runs.run(FAILED)
    with run.claim():
        code, _, err = invoke("runs", "rm", FAILED)
    assert code == 1 and "is being computed" in err
    assert run.spec_path.exists()


def test_what_is_removed_must_be_said(invoke, two_runs):
    for words in ((), (KEPT, "--where", "status=failed"), ("ff",)):
        assert invoke("runs", "rm", *words)[0] == 2
    assert two_runs.run(KEPT).path.exists()


def test_nothing_to_remove_is_said(invoke, two_runs):
    code, _, err = invoke("runs", "rm", "--where", "status=diverged")
    assert code == 0 and "Nothing was removed: no run has status=diverged." in err


def test_a_damaged_run_is_removed_without_being_read(invoke, two_runs):
    two_runs.run(KEPT).result_path.write_text("{")
    code, out, _ = invoke("runs", "rm", KEPT, "--dry-run")
    assert code == 0 and KEPT in out and two_runs.run(KEPT).path.exists()
    assert invoke("runs", "rm", KEPT)[0] == 0
    assert not two_runs.run(KEPT).path.exists()


def test_beside_a_damaged_run_another_one_is_removed(invoke, two_runs):
    two_runs.run(KEPT).result_path.write_text("{")
    code, _, err = invoke("runs", "rm", FAILED)
    assert code == 0 and not two_runs.run(FAILED).path.exists()
    assert "as it was before" in err and "it is no JSON from line 1, column 2 on" in err


def test_a_run_that_failed_before_its_options_were_written_is_removed(invoke, two_runs):
    two_runs.run(FAILED).spec_path.unlink()
    assert invoke("runs", "rm", "--where", "status=failed")[0] == 0
    assert not two_runs.run(FAILED).path.exists()
