import pytest

from lipgnn.datasets import form_of_data, read, write_npz
from lipgnn.errors import DataError
from lipgnn.results.store import Store
from lipgnn.spec.grid import Grid
from lipgnn.sweep.plan import fingerprint_of, make_plan, outline

GRID = Grid({"layers": [2, 4], "seed": [0, 1]}, fixed={"dataset": "planted", "epochs": 10})


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "results")


@pytest.fixture
def runs():
    return GRID.runs({})[0]


@pytest.fixture
def publish(store, result_row):
    """Put the result of a run into the store."""

    def add(spec, **values):
        run_id = spec.run_id(fingerprint_of(spec.dataset, spec.split))
        store.run(run_id).begin(spec, "f")
        store.run(run_id).finish(result_row(**spec.to_dict(), run_id=run_id, **{"epochs_run": 5, **values}))
        return run_id

    return add


def test_an_empty_store_leaves_everything_to_do(store, runs):
    plan = make_plan(runs, store)
    assert [planned.state for planned in plan.runs] == ["to do"] * 4
    assert plan.to_run == plan.runs
    assert plan.seconds is None


def test_states_come_from_the_store(store, runs, publish):
    publish(runs[0])
    publish(runs[1], status="diverged")
    failed = store.run(runs[2].run_id(fingerprint_of("planted", "public")))
    failed.begin(runs[2], "f")
    failed.fail("out of memory", 1)
    plan = make_plan(runs, store)
    assert [planned.state for planned in plan.runs] == ["done", "diverged", "failed", "to do"]
    assert [planned.spec for planned in plan.to_run] == [runs[3]]


@pytest.mark.parametrize(
    "options, expected",
    [({"retry": ["failed"]}, [2, 3]), ({"retry": ["diverged"]}, [1, 3]), ({"force": True}, [0, 1, 2, 3])],
)
def test_what_is_computed_again_is_asked_for(store, runs, options, expected, publish):
    test_states_come_from_the_store(store, runs, publish)
    plan = make_plan(runs, store, **options)
    assert [planned.spec for planned in plan.to_run] == [runs[k] for k in expected]


def test_time_is_estimated_from_past_runs_on_the_same_data(store, runs, publish):
    """0.5 s an epoch at 2 layers, half of the epochs used: 0.25 s an epoch and layer, 5 of 10 epochs."""
    publish(runs[0], seconds_per_epoch=0.5, epochs_run=5)
    plan = make_plan(runs, store)
    assert [planned.estimate for planned in plan.runs] == [2.5, 2.5, 5.0, 5.0]
    assert plan.seconds == 12.5


def test_other_data_gives_a_rough_estimate(store, runs, publish):
    publish(runs[0].with_values(dataset="cora"), seconds_per_epoch=0.5)
    plan = make_plan(runs, store)
    assert plan.rough
    assert 0 < plan.seconds < 4 * 4 * 10 * 0.5


def test_what_is_not_known_is_counted_and_the_rest_is_summed(store, runs, publish):
    publish(runs[0], seconds_per_epoch=0.5, epochs_run=5)
    plan = make_plan([*runs[1:], runs[0].with_values(dataset="texas")], store, without_data=True)
    assert [planned.state for planned in plan.runs] == ["to do"] * 3 + ["no data"]
    assert (plan.seconds, plan.unknown, plan.rough) == (12.5, 1, False)


def test_archived_rows_count_where_their_data_is_not_here(store, runs, result_row):
    specs = [spec.with_values(dataset="texas", split="geom-gcn:0") for spec in runs[:3]]
    rows = [
        result_row(**spec.to_dict(), run_id=f"{number}" * 12, fingerprint="f", status=status)
        for number, (spec, status) in enumerate(zip(specs[:2], ("done", "diverged"), strict=True))
    ]
    plan = make_plan(specs[:2], store, archived=rows)
    assert [(run.state, run.run_id[:1]) for run in plan.runs] == [
        ("done (archived)", "0"),
        ("diverged", "1"),
    ]
    assert not plan.to_run
    shown = make_plan(specs, store, archived=rows, without_data=True)
    assert [planned.state for planned in shown.to_run] == ["no data"]
    for wanted, how in ((specs, {}), (specs[:2], {"force": True}), (specs[:2], {"retry": ("diverged",)})):
        with pytest.raises(DataError, match="texas"):
            make_plan(wanted, store, archived=rows, **how)


def test_archived_rows_are_done_unless_they_diverged(store, runs, result_row, publish):
    ids = [spec.run_id(fingerprint_of("planted", "public")) for spec in runs]
    rows = [
        result_row(**runs[0].to_dict()) | {"run_id": ids[0], "seconds_per_epoch": 1.0},
        result_row(**runs[1].to_dict()) | {"run_id": ids[1], "status": "diverged"},
        result_row(**runs[2].to_dict()) | {"run_id": "0" * 12},
    ]
    plan = make_plan(runs, store, archived=rows)
    assert [planned.state for planned in plan.runs] == ["done (archived)", "diverged", "to do", "to do"]
    assert None not in [planned.estimate for planned in plan.runs]
    assert len(make_plan(runs, store, archived=rows, retry=["diverged"]).to_run) == 3
    assert len(make_plan(runs, store, archived=rows, force=True).to_run) == 4
    publish(runs[0])
    assert make_plan(runs, store, archived=rows).runs[0].state == "done"


def test_an_outline_reads_no_data(runs, result_row):
    specs = [spec.with_values(dataset="texas") for spec in runs]
    plan = outline([*runs, *specs], [result_row(**runs[0].to_dict(), seconds_per_epoch=1.0)])
    assert len(plan.to_run) == 7
    assert (plan.seconds is not None, plan.unknown) == (True, 4)


def test_a_sweep_does_not_start_without_its_data(store):
    with pytest.raises(DataError, match="texas"):
        make_plan(Grid({"dataset": ["planted", "texas"]}).runs({})[0], store)


def test_a_file_has_the_id_of_its_metric_before_it_is_computed(store, tmp_path):
    from lipgnn.datasets import read, write_npz

    write_npz(read("planted"), tmp_path / "own.npz")
    grid = Grid({"metric": ["auto", "accuracy", "macro-f1"]}, fixed={"dataset": str(tmp_path / "own.npz")})
    ids = [planned.run_id for planned in make_plan(grid.runs({})[0], store).runs]
    assert ids[0] == ids[1] != ids[2]


def test_a_file_has_the_id_of_its_form_of_features_before_it_is_computed(store, tmp_path):
    write_npz(read("planted"), tmp_path / "mine.npz")
    path = str(tmp_path / "mine.npz")
    (spec,) = Grid({}, fixed={"dataset": path, "layers": 2, "split": "public"}).runs({})[0]
    assert spec.features == "auto"
    (planned,) = make_plan([spec], store).runs
    named = planned.spec.with_values(features=form_of_data(path))
    assert planned.spec == named and planned.run_id == named.run_id(fingerprint_of(path, "public"))
