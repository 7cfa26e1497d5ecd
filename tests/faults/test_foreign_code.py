"""Nothing in the working folder is imported or read unless it is named: a folder of traps springs none of them."""

import json
import sys

import pytest

SMALL = ("--dataset", "planted", "--layers", "2", "--hidden", "2", "--heads", "2", "--epochs", "2")
THIRD_PARTIES = ("torch", "dgl", "numpy", "scipy", "pandas", "click", "rich", "matplotlib", "tomlkit", "safetensors")
TRAP = "open({name!r}, 'w').close()\nraise SystemExit('a trap was sprung')\n"


@pytest.fixture
def traps(tmp_path):
    """A module in the working folder by every name that the program or Python imports; returns those that were run."""
    for name in {*sys.stdlib_module_names, *THIRD_PARTIES, "cli", "lipgnn", "sitecustomize", "usercustomize"}:
        (tmp_path / f"{name}.py").write_text(TRAP.format(name=f"sprung-{name}"))
    (tmp_path / "matplotlibrc").write_bytes(b"figure.facecolor: red\nbackend: module://random\n\xff\n")
    return lambda: sorted(path.name for path in tmp_path.glob("sprung-*"))


def test_a_sweep_runs_no_module_of_the_working_folder(lipgnn, traps):
    done = lipgnn("sweep", *SMALL, "--seeds", "0-1", "--jobs", "2", "--json", "-q")
    assert traps() == []
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["done"] == 2


def test_a_bench_runs_no_module_of_the_working_folder(lipgnn, traps):
    done = lipgnn(
        "bench", "train", "--layers", "1", "--width", "2", "--what", "dgl", "--dataset", "planted", "--peak", "--json"
    )
    assert traps() == []
    assert done.returncode == 0, done.stderr


def test_a_figure_obeys_no_settings_of_the_working_folder(lipgnn, traps, result_row, write_store, tmp_path):
    write_store(tmp_path / "results", [result_row(layers=layers, seed=0) for layers in (2, 4)])
    draw = ("report", "--figure", "depth", "-o")
    lipgnn(*draw, "trapped.svg", check=0)
    assert traps() == []
    (tmp_path / "matplotlibrc").unlink()
    lipgnn(*draw, "free.svg", check=0)
    assert (tmp_path / "trapped.svg").read_bytes() == (tmp_path / "free.svg").read_bytes()
