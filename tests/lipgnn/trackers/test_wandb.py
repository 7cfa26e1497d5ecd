import json
import struct

import pytest

from lipgnn.results.store import Store
from lipgnn.trackers import train

pytestmark = pytest.mark.real("wandb")


def records(path):
    """The records of an offline run: a log as LevelDB writes them, in blocks of 32 KB, behind 7 bytes of its own."""
    from wandb.proto import wandb_internal_pb2

    content, place, message = path.read_bytes(), 7, b""
    while place + 7 <= len(content):
        if 32768 - place % 32768 < 7:
            place += 32768 - place % 32768
            continue
        _, length, kind = struct.unpack("<IHB", content[place : place + 7])
        message += content[place + 7 : place + 7 + length]
        place += 7 + length
        # A whole record, or the last part of one.
        if kind in (1, 4):
            record = wandb_internal_pb2.Record()
            record.ParseFromString(message)
            yield record
            message = b""


def test_wandb_holds_the_run_offline(small_spec, load_for, tmp_path, monkeypatch):
    for name in ("WANDB_DIR", "WANDB_PROJECT", "WANDB_MODE"):
        monkeypatch.delenv(name, raising=False)
    # Nobody is logged in here, whoever runs the tests.
    monkeypatch.delenv("WANDB_API_KEY", raising=False)
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    store, dataset = Store(tmp_path / "results"), load_for(small_spec)
    *_, finished = train(small_spec, dataset, store, log=["wandb"], warn=pytest.fail)
    run = store.run(finished.result["run_id"])
    (path,) = run.path.glob("wandb/offline-run-*/run-*.wandb")
    held, summary, config = {}, {}, {}
    for record in records(path):
        if record.WhichOneof("record_type") == "history":
            items = {"/".join(i.nested_key) or i.key: json.loads(i.value_json) for i in record.history.item}
            held.setdefault(items["_step"], {}).update(items)
        for item in record.summary.update:
            summary["/".join(item.nested_key) or item.key] = json.loads(item.value_json)
        for item in record.run.config.update:
            config["/".join(item.nested_key) or item.key] = json.loads(item.value_json)
    log = run.read_log()
    assert [(step, held[step]["val_loss"]) for step in sorted(held) if "val_loss" in held[step]] == [
        (line["epoch"], line["val_loss"]) for line in log
    ]
    assert all("gradients/weight_norm/layer_002" in held[line["epoch"]] for line in log)
    assert summary["final/test_score"] == finished.result["test_score"] and summary["status"] == "done"
    assert config["norm"] == small_spec.norm and config["run_id"] == run.id
    assert len(list(run.path.glob("wandb/offline-run-*/files/media/images/diagnose_*.png"))) == 1
