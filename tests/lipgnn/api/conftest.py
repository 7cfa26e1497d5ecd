"""A small run from Python, in an empty folder where the store is, too."""

import pytest

SMALL = {"layers": 2, "hidden": 4, "heads": 2, "epochs": 4, "lr": 0.1, "dropout": 0.0, "layer_dropout": 0.0}


@pytest.fixture(autouse=True)
def empty_folder(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def small():
    """The options of a run that takes a moment."""
    return dict(SMALL)


@pytest.fixture
def run(small):
    """A run on the planted partition."""
    import lipgnn

    return lipgnn.train("planted", norm="lip", **small)


@pytest.fixture
def own():
    """The planted partition as data in memory, with names of nodes and classes of its own."""
    import dataclasses

    import numpy as np

    from lipgnn.datasets import read

    source = read("planted")
    names = np.array([f"n{k}" for k in range(source.num_nodes)])
    return dataclasses.replace(source, name="mine", node_ids=names, class_names=("a", "b", "c", "d"))
