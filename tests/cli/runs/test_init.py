import json


def test_runs_are_listed_chosen_and_given_as_json(invoke, two_runs):
    code, out, err = invoke("runs")
    assert code == 0 and "aa1100000000" in out and "ab2200000000" in out and "lipgnn runs show" in err
    code, out, _ = invoke("runs", "--where", "status=done", "--json")
    assert [(run["run_id"], run["name"]) for run in json.loads(out)] == [("aa1100000000", "best")]
    assert len(json.loads(invoke("runs", "--limit", 1, "--json")[1])) == 1


def test_an_empty_folder_has_no_runs(invoke):
    code, out, err = invoke("runs")
    assert (code, out) == (0, "") and "No run is listed" in err


def test_a_folder_of_results_that_is_not_there_is_refused(invoke, two_runs, tmp_path):
    (tmp_path / "afile").write_text("")
    code, _, err = invoke("runs", "--results", "afile")
    assert code == 2 and "'afile' is a file" in err
    code, _, err = invoke("runs", "--results", "nofolder")
    assert code == 2 and "no folder 'nofolder'" in err
    code, _, err = invoke("evaluate", "x", "--results", "afile")
    assert code == 2 and "'afile' is a file" in err


def test_conditions_that_no_run_meets_are_told(invoke, two_runs):
    code, _, err = invoke("runs", "--where", "status=failled")
    assert code == 2 and "Unknown value of status 'failled'" in err and "Did you mean 'failed'" in err
    code, out, err = invoke("runs", "--where", "status=diverged", "--tag", "paper")
    assert (code, out) == (0, "") and "None of 2 runs has status=diverged and tag paper." in err


def test_a_damaged_run_is_listed_beside_the_others(invoke, two_runs):
    two_runs.run("aa1100000000").result_path.write_text("{")
    code, out, _ = invoke("runs", "--json")
    assert code == 0
    assert {run["run_id"]: run["status"] for run in json.loads(out)} == {
        "aa1100000000": "damaged",
        "ab2200000000": "failed",
    }


def test_options_of_the_list_are_not_those_of_what_follows(invoke, two_runs):
    code, _, err = invoke("runs", "--where", "status=failed", "rm")
    assert code == 2 and "lipgnn runs rm" in err
    assert two_runs.run("ab2200000000").path.exists()
