from pathlib import Path

from lipgnn.spec.run import RunSpec
from lipgnn.sweep.engines.events import Orders
from lipgnn.sweep.plan import PlannedRun


def test_a_request_says_all_that_a_worker_needs():
    orders = Orders(Path("/store"), force=True, save_every=3, record=("gradients",), log=("mlflow",))
    request = orders.request(PlannedRun(RunSpec(layers=4), "ab12", "to do", None))
    assert RunSpec.from_mapping(request["spec"]) == RunSpec(layers=4)
    assert {key: request[key] for key in ("run_id", "results", "force", "save_every", "record", "log")} == {
        "run_id": "ab12",
        "results": "/store",
        "force": True,
        "save_every": 3,
        "record": ["gradients"],
        "log": ["mlflow"],
    }
