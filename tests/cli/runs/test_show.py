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
