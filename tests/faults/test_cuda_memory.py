"""Row 15 of the fault table, by an allocator that says what CUDA's says."""

import gc
import json
import weakref

import pytest
import torch

from lipgnn.errors import RunFailed
from lipgnn.results.store import Store
from lipgnn.sweep.worker import compute
from lipgnn.training.loop import train
from lipgnn.training.state import Training

WORDS = (
    "CUDA out of memory. Tried to allocate 2.50 GiB. GPU 0 has a total capacity of 7.79 GiB of which 1.02 GiB is free."
)


@pytest.fixture
def full_device(monkeypatch):
    """Training finds no memory in its third epoch: references to whoever did not, and what frees the device."""
    real, met = Training.step, []

    def step(self):
        if self.epoch == 2:
            met.append(weakref.ref(self))
            raise torch.OutOfMemoryError(WORDS)
        return real(self)

    monkeypatch.setattr(Training, "step", step)
    return met, lambda: monkeypatch.setattr(Training, "step", real)


def test_the_size_asked_for_and_what_needs_less_are_told(small_spec, load_for, tmp_path, full_device):
    store = Store(tmp_path / "results")
    data = load_for(small_spec)
    with pytest.raises(RunFailed, match=r"in epoch 3: CUDA out of memory. Tried to allocate 2.50 GiB") as caught:
        list(train(small_spec, data, store))
    assert all(word in caught.value.hint for word in ("heads", "width", "layers"))
    note = json.loads(store.run(small_spec.run_id(data.fingerprint)).failure_path.read_text())
    assert "2.50 GiB" in note["reason"] and note["epoch"] == 2


def test_the_next_run_of_the_process_finds_a_clean_device(small_spec, load_for, tmp_path, full_device):
    """Nothing holds on to the network of the run that failed, and the next one is as if it had been the first."""
    met, free = full_device
    request = {
        "spec": small_spec.to_dict(),
        "run_id": small_spec.run_id(load_for(small_spec).fingerprint),
        "force": False,
        "record": (),
        "log": (),
        "save_every": 10,
    }
    failed = compute({**request, "results": str(tmp_path / "full")})
    assert failed["status"] == "failed" and "2.50 GiB" in failed["reason"]
    gc.collect()
    assert [training() for training in met] == [None]
    free()
    after = compute({**request, "results": str(tmp_path / "full")})
    first = compute({**request, "results": str(tmp_path / "clean")})
    assert after["status"] == first["status"] == "done"
    assert after["result"]["test_score"] == first["result"]["test_score"]
    best = [next((tmp_path / folder).rglob("best.safetensors")).read_bytes() for folder in ("full", "clean")]
    assert best[0] == best[1]
