from cli.runs.listing import conditions_words, print_runs
from lipgnn.results.listing import LISTED


def test_a_column_in_which_no_run_has_anything_is_left_out(capsys):
    run = dict.fromkeys(LISTED) | {"run_id": "aa1100000000", "status": "failed", "layers": 3, "tags": ("a", "b")}
    print_runs([run], nothing="none", as_json=False)
    out = capsys.readouterr().out
    assert "aa1100000000" in out and "a, b" in out
    assert "test" not in out and "name" not in out


def test_no_runs_are_a_sentence(capsys):
    print_runs([], nothing="No run has layers=3.", as_json=False)
    assert capsys.readouterr().err == "No run has layers=3.\n"


def test_conditions_are_told_as_they_were_given():
    assert conditions_words(["status=failed", "layers=2,3"], ["paper"]) == "status=failed and layers=2,3 and tag paper"
