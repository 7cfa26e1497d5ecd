import itertools

import pytest

from lipgnn.errors import Interrupted
from lipgnn.results.store import Store
from lipgnn.trackers import train

pytestmark = pytest.mark.real("tensorboard")


def read(folder):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    accumulator = EventAccumulator(str(folder), size_guidance={"scalars": 0, "images": 0, "tensors": 0})
    return accumulator.Reload()


def test_tensorboard_holds_the_run(small_spec, load_for, tmp_path):
    store, asked = Store(tmp_path), itertools.count(1)
    dataset = load_for(small_spec)
    order = {"log": ["tensorboard"], "warn": pytest.fail}
    with pytest.raises(Interrupted):
        list(train(small_spec, dataset, store, **order, should_stop=lambda: next(asked) == 5))
    # As if it had been killed some epochs after its checkpoint.
    from torch.utils.tensorboard import SummaryWriter

    (run,) = map(store.run, (path.name for path in store.runs_path.iterdir()))
    with SummaryWriter(run.path / "tensorboard") as late:
        for epoch in (6, 7):
            late.add_scalar("val_loss", -1.0, epoch)
    *_, finished = train(small_spec, dataset, store, **order)
    held = read(run.path / "tensorboard")
    log = run.read_log()
    for name in ("train_loss", "val_loss", "train_score", "test_score", "lr", "grad_norm"):
        found = [(event.step, event.value) for event in held.Scalars(name)]
        assert found == [(line["epoch"], pytest.approx(line[name], rel=1e-6)) for line in log], name
    assert [event.step for event in held.Scalars("gradients/weight_norm/layer_002")] == list(range(1, 15))
    (final,) = held.Scalars("final/test_score")
    assert final.value == pytest.approx(finished.result["test_score"], rel=1e-6)
    assert held.Images("diagnose")[0].encoded_image_string.startswith(b"\x89PNG")
    texts = [event.tensor_proto.string_val[0].decode() for event in held.Tensors("spec/text_summary")]
    assert f"| norm | {small_spec.norm} |" in texts[-1] and f"| run_id | {run.id} |" in texts[-1]
    assert "_hparams_/session_start_info" in held.summary_metadata
