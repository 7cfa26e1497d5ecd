import itertools

import pytest

from lipgnn.errors import Interrupted
from lipgnn.results.store import Store
from lipgnn.trackers import train
from lipgnn.trackers.mlflow import TAG

pytestmark = pytest.mark.real("mlflow")


def test_mlflow_holds_the_run(small_spec, load_for, tmp_path, monkeypatch, capfd):
    import mlflow

    for name in ("MLFLOW_TRACKING_URI", "MLFLOW_EXPERIMENT_NAME"):
        monkeypatch.delenv(name, raising=False)
    store, asked = Store(tmp_path), itertools.count(1)
    dataset = load_for(small_spec)
    order = {"log": ["mlflow"], "warn": pytest.fail, "save_every": 4}
    with pytest.raises(Interrupted):
        list(train(small_spec, dataset, store, **order, should_stop=lambda: next(asked) == 5))
    client = mlflow.MlflowClient(f"sqlite:///{tmp_path / 'mlflow.db'}")
    experiment = client.get_experiment_by_name("lipgnn").experiment_id
    (held,) = client.search_runs([experiment])
    assert held.info.status == "KILLED" and held.data.tags["status"] == "interrupted"
    # As if it had been killed some epochs after its checkpoint: these are not given twice.
    client.log_metric(held.info.run_id, "val_loss", 0.5, step=6)
    *_, finished = train(small_spec, dataset, store, **order)
    (held,) = client.search_runs([experiment])
    run = store.run(finished.result["run_id"])
    assert held.data.tags[TAG].startswith(run.id) and held.info.status == "FINISHED"
    assert held.data.params["norm"] == small_spec.norm and held.data.params["run_id"] == run.id
    lines = [line for line in run.read_log() if line["epoch"] != 6]
    for name in ("train_loss", "val_score", "lr"):
        found = [(metric.step, metric.value) for metric in client.get_metric_history(held.info.run_id, name)]
        assert found == [(line["epoch"], line[name]) for line in lines], name
    layers = [name for name in held.data.metrics if name.startswith("gradients/")]
    assert len(layers) == 2 * small_spec.layers
    assert held.data.metrics["final/test_score"] == finished.result["test_score"]
    (artifact,) = client.list_artifacts(held.info.run_id)
    folder = tmp_path / "mlflow-artifacts" / held.info.run_id / "artifacts"
    assert (folder / artifact.path).read_bytes().startswith(b"\x89PNG")
    assert capfd.readouterr() == ("", "")
