"""A data directory, and tables to import into it."""

import pytest


@pytest.fixture
def data(monkeypatch, tmp_path):
    """A data directory of the test's own."""
    monkeypatch.setenv("LIPGNN_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.fixture
def tables(tmp_path):
    """Three nodes in two CSV files."""
    (tmp_path / "nodes.csv").write_text("id,label,split,a,b\nx,red,train,1,0\ny,blue,val,0,1\nz,red,test,1,1\n")
    (tmp_path / "edges.csv").write_text("source,target\nx,y\ny,z\n")
    return tmp_path / "nodes.csv"
