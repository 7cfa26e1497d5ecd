"""What all recorders share, with one that records the number of the batch."""

import numpy as np
import pytest
import torch

from lipgnn.errors import UsageError
from lipgnn.results.recordings import RECORDS, read_recording
from lipgnn.spec.sources import resolve
from lipgnn.tasks import task_of
from lipgnn.training.recorders import RECORDERS
from lipgnn.training.recorders.recorder import Recorder


class Counting(Recorder):
    """Every number of a batch is the one it is told."""

    record = "gradients"

    def see(self, number):
        self._end_batch(torch.full((len(RECORDS[self.record]), 3), float(number), dtype=torch.float64))


def test_there_is_a_recorder_for_everything_that_can_be_recorded():
    assert RECORDERS.keys() == RECORDS.keys()
    assert all(kind.record == name for name, kind in RECORDERS.items())


def test_of_several_batches_the_largest_numbers_are_kept(training, tmp_path):
    recorder = Counting(training())
    for epoch, numbers in enumerate(([1, 5, 2], [4, 3]), start=1):
        for number in numbers:
            recorder.see(number)
        recorder.end_epoch(epoch)
        assert recorder.latest() == (epoch, dict.fromkeys(RECORDS["gradients"], [max(numbers)] * 3))
    recorder.save(tmp_path / "a.safetensors")
    arrays = read_recording(tmp_path / "a.safetensors")
    assert arrays["epochs"].tolist() == [1, 2]
    np.testing.assert_array_equal(arrays["weight_norm"], [[5] * 3, [4] * 3])


@pytest.mark.parametrize("epoch, kept", [(0, []), (1, [1]), (2, [1, 2])])
def test_a_resumed_run_goes_on_from_its_own_epoch(training, tmp_path, epoch, kept):
    first = Counting(training())
    for number in (1, 2):
        first.see(number)
        first.end_epoch(number)
    first.save(tmp_path / "a.safetensors")
    state = training()
    state.epoch = epoch
    again = Counting(state, read_recording(tmp_path / "a.safetensors"))
    again.see(9)
    again.end_epoch(epoch + 1)
    again.save(tmp_path / "a.safetensors")
    arrays = read_recording(tmp_path / "a.safetensors")
    assert arrays["epochs"].tolist() == [*kept, epoch + 1]
    assert arrays["input_max"][:, 0].tolist() == [*kept, 9]


def test_without_an_epoch_nothing_is_written(training, tmp_path):
    Counting(training()).save(tmp_path / "a.safetensors")
    assert not (tmp_path / "a.safetensors").exists()


@pytest.mark.parametrize(
    "dataset, model, refused",
    [
        ("planted", "gat", {"horizons"}),
        ("planar", "gat", {"reach"}),
        ("planar", "diffusion", {"gradients", "similarity", "reach"}),
    ],
)
def test_what_a_run_does_not_have_is_refused_in_a_sentence(dataset, model, refused):
    spec = resolve({"dataset": dataset, "model": model}, {}).spec
    found = set()
    for name, kind in RECORDERS.items():
        try:
            kind.check(spec, task_of(dataset))
        except UsageError as error:
            assert error.message.startswith(f"--record {name} is of ") and error.message.count(".") == 1
            found.add(name)
    assert found == refused
