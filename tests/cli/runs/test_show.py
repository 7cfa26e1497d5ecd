import json

RUN = "aa1100000000"


def test_a_finished_run_shows_its_command_its_result_and_what_to_type_next(invoke, two_runs):
    code, out, err = invoke("runs", "show", "best")
    assert code == 0
    assert f"Run {RUN}, called best" in out and "lipgnn train --" in out and "test_score" in out
    assert f"lipgnn evaluate {RUN}" in err


def test_a_failed_run_shows_the_reason_and_how_to_go_on(invoke, two_runs):
    code, out, err = invoke("runs", "show", "ab")
    assert code == 0
    assert "no memory left" in out and "lipgnn train" in err and "evaluate" not in err
    found = json.loads(invoke("runs", "show", "ab", "--json")[1])
    assert (found["failure"], found["status"]) == ("no memory left", "failed")


def test_the_command_is_shown_once_and_the_last_numbers_as_well(invoke, two_runs):
    out = invoke("runs", "show", "best")[1]
    assert out.count("command") == 1


def test_a_run_without_options_or_with_damaged_files_is_shown_with_the_reason(invoke, two_runs):
    two_runs.run("ab2200000000").spec_path.unlink()
    code, out, err = invoke("runs", "show", "ab")
    assert code == 0 and "no memory left" in out and "lipgnn runs rm ab2200000000" in err
    two_runs.run(RUN).result_path.write_text("{")
    code, out, err = invoke("runs", "show", "aa")
    assert code == 0 and "damaged" in out and "it is no JSON" in out and f"lipgnn runs rm {RUN}" in err
