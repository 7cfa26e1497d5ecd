import pytest

from lipgnn.memory import peak_memory
from lipgnn.results.columns import COLUMNS
from lipgnn.results.store import Store
from lipgnn.training.row import peak_of_all, row_of
from lipgnn.training.state import Training


class Team:
    """Two others, with a peak of 100 each."""

    size = 3

    def order(self, what):
        self.ordered = what

    def total(self, numbers):
        return [number + 200 for number in numbers]


def test_a_row_has_every_column_and_memory_is_that_of_all_workers(small_spec, load_for, tmp_path):
    import torch

    training = Training(small_spec, load_for(small_spec), torch.device("cpu"))
    training.step()
    row = row_of(training, Store(tmp_path).run("0" * 12), "f" * 16, None)
    assert set(COLUMNS) <= row.keys()
    assert (row["status"], row["workers"], row["sent_mb"], row["dense_mb"]) == ("done", 1, None, None)
    training.team = Team()
    assert peak_of_all(training) == pytest.approx(peak_memory() + 200, rel=0.1)
    assert training.team.ordered == "measure"
