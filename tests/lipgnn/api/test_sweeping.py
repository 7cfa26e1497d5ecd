import warnings

import numpy as np
import pytest

import lipgnn
from lipgnn.errors import UsageError
from lipgnn.sweep.engines.events import Ended


def test_a_grid_is_planned_computed_and_reported(small, tmp_path):
    lipgnn.train("planted", seed=7, norm="lip", **small)  # another run, which the table leaves out
    grid = {**small, "epochs": 1, "norm": ["none", "lip"], "seeds": range(2)}
    plan = lipgnn.sweep("planted", dry_run=True, **grid)
    assert len(plan.ids) == 4 and plan.summary is None and plan.runs == []
    assert plan.to_pandas()["seed"].tolist() == [0, 1, 0, 1]
    with pytest.raises(UsageError, match="No run of this sweep is finished"):
        plan.report()
    seen = []
    done = lipgnn.sweep("planted", jobs=1, on_event=seen.append, name="first", tags="try", **grid)
    assert (done.summary.ran, done.summary.failed, done.failures) == (4, 0, {})
    assert sum(isinstance(event, Ended) for event in seen) == 4
    assert [run.id for run in done.runs] == done.ids == plan.ids
    assert done.ids[0] == lipgnn.train("planted", **{**small, "epochs": 1, "norm": "none"}).id
    assert done.report(rows="norm", cols="layers").to_pandas()["n"].tolist() == [2, 2]
    assert "computed 4" in repr(done) and "computed" in done._repr_html_()
    for of in ({"sweep": "first"}, {"sweep": "last"}, {"tags": "try"}):
        assert lipgnn.report(rows="norm", cols="layers", **of).to_pandas()["n"].tolist() == [2, 2]
    again = lipgnn.sweep("planted", jobs=1, **grid)
    assert again.summary.ran == 0 and again.summary.done == 4


def test_lists_in_every_form(small):
    def ids(**options):
        return lipgnn.sweep("planted", dry_run=True, **{**small, **options}).ids

    assert (
        ids(layers="2,4-6:2") == ids(layers=[2, 4, 6]) == ids(layers=range(2, 7, 2)) == ids(layers=np.arange(2, 7, 2))
    )
    assert len(lipgnn.sweep(["planted", "cora"], dry_run=True, layers=np.int64(2)).ids) == 2


def test_what_cannot_be_swept_is_refused(own, small):
    with pytest.raises(UsageError, match="does not reach") as caught:
        lipgnn.sweep(own, **small)
    assert "lipgnn.save" in caught.value.hint
    with pytest.raises(UsageError, match="layer"):
        lipgnn.sweep("planted", layer=[2])
    with pytest.raises(UsageError, match="state to retry"):
        lipgnn.sweep("planted", retry="done", dry_run=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        plan = lipgnn.sweep("planted", dry_run=True, model=["gcn", "gat"], norm="lip", layers=2)
    assert len(plan.ids) == 1 and any("left out" in str(one.message) for one in caught)


def test_failures_are_warned_of(small, monkeypatch):
    from lipgnn.api import sweeping
    from lipgnn.sweep.run import Summary

    def fail(prepared, means):
        yield Ended(0, prepared.plan.runs[0], "failed", "no memory")
        yield Summary(1, 0, 0, 1, 0, 0, 0.1, False)

    monkeypatch.setattr(sweeping, "execute", fail)
    with pytest.warns(UserWarning, match="1 of 1 runs failed"):
        done = lipgnn.sweep("planted", **small)
    assert list(done.failures.values()) == ["no memory"] and "no memory" in done._repr_html_()
