import pytest

from lipgnn.errors import Interrupted
from lipgnn.results.store import Store
from lipgnn.training.loop import train


def test_a_half_computed_run_travels_in_one_file(invoke, small_spec, load_for, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Interrupted):
        list(train(small_spec, load_for(small_spec), Store(tmp_path / "here"), should_stop=lambda: True))
    (run,) = (tmp_path / "here/runs").iterdir()
    code, _, err = invoke("sweep", "--pack", run.name[:6], "--results", "here")
    assert code == 0 and f"lipgnn sweep --unpack {run.name}.run.zip" in err
    code, _, err = invoke("sweep", "--unpack", f"{run.name}.run.zip", "--results", "there")
    assert code == 0 and "state after epoch 1" in err
    command = next(line for line in err.splitlines() if "lipgnn train" in line).split()[1:]
    code, _, err = invoke(*command)
    assert code == 0 and "epoch 1" in err
    assert (tmp_path / "there/runs" / run.name / "result.json").exists()


def test_a_file_that_is_none_is_refused_in_one_sentence(invoke, tmp_path):
    (tmp_path / "no.zip").write_bytes(b"nothing")
    code, _, err = invoke("sweep", "--unpack", tmp_path / "no.zip")
    assert code == 4 and "is no packed run" in err
    assert invoke("sweep", "--unpack", tmp_path / "absent.zip")[0] == 4


def test_packing_and_unpacking_are_two_commands(invoke):
    code, _, err = invoke("sweep", "--pack", "3f2a", "--unpack", "3f2a.run.zip")
    assert code == 2 and "two steps" in err
