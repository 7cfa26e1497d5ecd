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


def test_options_of_the_list_are_not_those_of_what_follows(invoke, two_runs):
    code, _, err = invoke("runs", "--where", "status=failed", "rm")
    assert code == 2 and "lipgnn runs rm" in err
    assert two_runs.run("ab2200000000").path.exists()
