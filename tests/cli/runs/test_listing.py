from cli.runs.listing import print_runs
from lipgnn.results.listing import LISTED


def test_a_column_in_which_no_run_has_anything_is_left_out(capsys):
    run = dict.fromkeys(LISTED) | {"run_id": "aa1100000000", "status": "failed", "layers": 3, "tags": ("a", "b")}
    print_runs([run], as_json=False)
    out = capsys.readouterr().out
    assert "aa1100000000" in out and "a, b" in out
    assert "test" not in out and "name" not in out


def test_no_runs_are_a_sentence(capsys):
    print_runs([], as_json=False)
    assert "No run is listed" in capsys.readouterr().err
