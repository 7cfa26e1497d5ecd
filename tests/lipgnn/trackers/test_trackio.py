import json
import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.real("trackio")

# In a process of its own: Trackio takes its folder from the environment when it is imported.
PROGRAM = """
import itertools, json, sys
from pathlib import Path
from lipgnn.errors import Interrupted
from lipgnn.results.store import Store
from lipgnn.spec.run import RunSpec
from lipgnn.tasks import load
from lipgnn.trackers import train

spec = RunSpec(dataset="planted", layers=2, hidden=2, heads=2, epochs=8, patience=0, device="cpu")
data, store, asked = load("planted"), Store(Path("results")), itertools.count(1)
order = {"log": ["trackio"], "warn": sys.exit, "should_stop": lambda: next(asked) == 5}
try:
    list(train(spec, data, store, **order))
except Interrupted:
    *_, finished = train(spec, data, store, **order)

import trackio
(run,) = trackio.Api().runs("lipgnn")
run_id = finished.result["run_id"]
held = trackio.SQLiteStorage.get_logs("lipgnn", run.name)
log = store.run(run_id).read_log()
print(json.dumps({"name": run.name, "run_id": run_id, "held": held, "log": log, "config": run.config}))
"""


def test_trackio_holds_the_run(tmp_path):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("TRACKIO_")}
    done = subprocess.run([sys.executable, "-c", PROGRAM], cwd=tmp_path, env=clean, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["name"].startswith(found["run_id"]) and found["config"]["run_id"] == found["run_id"]
    epochs = [held for held in found["held"] if "val_loss" in held]
    assert [held["step"] for held in epochs] == list(range(1, 9))
    for name in ("train_loss", "val_score", "lr"):
        assert [held[name] for held in epochs] == [line[name] for line in found["log"]]
    assert all("gradients/weight_norm/layer_002" in held for held in epochs)
    ends = [held for held in found["held"] if "status" in held]
    assert [held["status"] for held in ends] == ["interrupted", "done"]
    assert "final/test_score" in ends[1] and ends[1]["diagnose"]["_type"] == "trackio.image"
    assert (tmp_path / "results" / "trackio" / "lipgnn.db").exists()
