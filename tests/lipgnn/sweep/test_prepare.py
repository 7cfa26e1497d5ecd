"""From a request to a plan. What is refused is tried through the command as well, in tests/cli/test_sweep.py."""

import pytest

from lipgnn.errors import UsageError
from lipgnn.results.archive import archive_path
from lipgnn.results.store import to_csv
from lipgnn.sweep.plan import fingerprint_of
from lipgnn.sweep.prepare import SweepRequest, prepare

GRID = {"dataset": ["planted"], "layers": [1, 2, 3], "norm": ["none", "lip"]}


def specs(runs):
    return [planned.spec for planned in runs]


def test_lists_take_the_place_of_the_file_s(tmp_path):
    file = tmp_path / "grid.toml"
    file.write_text('[grid]\nlayers = [1, 2]\n[fixed]\ndataset = "planted"\nepochs = 9\n')
    prepared = prepare(SweepRequest(tmp_path, {"epochs": [4]}, file), {"LIPGNN_LR": "0.5"})
    assert [(spec.layers, spec.epochs, spec.lr) for spec in specs(prepared.plan.runs)] == [(1, 4, 0.5), (2, 4, 0.5)]
    assert prepared.choice is None and prepared.notes == []


def test_combinations_that_are_no_runs_are_told(tmp_path):
    prepared = prepare(SweepRequest(tmp_path, {**GRID, "layers": [2], "model": ["gat", "gcn"]}), {})
    assert len(prepared.plan.runs) == 3
    assert len(prepared.notes) == 1 and prepared.notes[0].startswith("1 combination is left out: ")


def test_so_many_runs_and_no_more_in_any_order(tmp_path):
    everything = prepare(SweepRequest(tmp_path, GRID), {}).plan
    few = prepare(SweepRequest(tmp_path, GRID, max_runs=2), {}).plan
    shuffled = prepare(SweepRequest(tmp_path, GRID, shuffle=True), {}).plan
    assert few.runs == everything.runs == shuffled.runs
    assert few.to_run == everything.to_run[:2]
    assert sorted(specs(shuffled.to_run), key=str) == sorted(specs(everything.to_run), key=str)


def test_archived_rows_of_a_study_are_not_computed_unless_forced(tmp_path, result_row):
    request = SweepRequest(tmp_path, study="first")
    first = prepare(request, {}).plan.runs[0]
    fingerprint = fingerprint_of("cora", "public")
    row = result_row(**first.spec.to_dict(), run_id=first.run_id, fingerprint=fingerprint)
    path = archive_path(tmp_path, "first")
    path.parent.mkdir()
    path.write_bytes(to_csv([row]))
    prepared = prepare(request, {})
    assert prepared.plan.runs[0].state == "done (archived)"
    assert prepared.plan.to_run == prepared.plan.runs[1:]
    assert prepared.notes == [prepared.choice.heading]
    assert len(prepare(SweepRequest(tmp_path, study="first", force=True), {}).plan.to_run) == 10


def test_a_plan_that_is_only_shown_has_the_other_scales(tmp_path):
    request = SweepRequest(tmp_path, {"dataset": ["texas"]}, study="missing", scale="small")
    shown = prepare(request, {}, only_shown=True)
    assert {planned.state for planned in shown.plan.runs} == {"no data"}
    assert list(shown.other_scales) == ["decide", "paper"]
    assert {spec.dataset for spec in specs(shown.other_scales["paper"].runs)} == {"texas"}
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"retry": ("faild",)}, "state to retry 'faild'"),
        ({"study": "first", "preset": "deep"}, "takes no preset"),
        ({"study": "first", "file": "grid.toml"}, "not both"),
        ({"scale": "small"}, "choose within a study"),
    ],
)
def test_wrong_requests_are_refused(tmp_path, given, message):
    with pytest.raises(UsageError, match=message):
        prepare(SweepRequest(tmp_path, **given), {})
