import pytest
import torch

from lipgnn.datasets import read
from lipgnn.errors import DataError
from lipgnn.runtime import dgl


@pytest.fixture
def graph():
    graph = dgl.graph(([0, 1, 2], [1, 2, 0]))
    graph.ndata["feat"] = torch.tensor([[0.5, 1.0], [2.0, 3.0], [4.0, 5.0]])
    graph.ndata["label"] = torch.tensor([0, 1, 0])
    for number, part in enumerate(("train", "val", "test")):
        graph.ndata[f"{part}_mask"] = torch.arange(3) == number
    return graph


def test_a_graph_that_dgl_saved_is_read_back_equal(tmp_path, graph):
    dgl.save_graphs(str(tmp_path / "mine.bin"), [graph])
    source = read(tmp_path / "mine.bin")
    assert (source.name, source.directed) == ("mine", True)
    assert source.edges.tolist() == [[0, 1, 2], [1, 2, 0]]
    assert source.features.tolist() == graph.ndata["feat"].tolist()
    assert source.labels.tolist() == [0, 1, 0]
    assert source.splits["public"].test.tolist() == [False, False, True]


def test_types_of_edges_are_kept_and_other_edge_data_is_not_lost_in_silence(tmp_path, graph):
    graph.edata["edge_type"] = torch.tensor([1, 0, 1])
    dgl.save_graphs(str(tmp_path / "typed.bin"), [graph])
    assert read(tmp_path / "typed.bin").edge_types.tolist() == [1, 0, 1]
    graph.edata["weight"] = torch.ones(3)
    dgl.save_graphs(str(tmp_path / "weighted.bin"), [graph])
    with pytest.raises(DataError, match="'weight', which no layer uses"):
        read(tmp_path / "weighted.bin")


def test_files_that_are_none_are_refused_with_the_way_from_python(tmp_path, graph):
    dgl.save_graphs(str(tmp_path / "two.bin"), [graph, graph])
    bare = dgl.graph(([0], [1]))
    dgl.save_graphs(str(tmp_path / "bare.bin"), [bare])
    content = (tmp_path / "two.bin").read_bytes()
    (tmp_path / "cut.bin").write_bytes(content[: len(content) // 2])
    for name in ("two", "bare", "cut"):
        with pytest.raises(DataError) as caught:
            read(tmp_path / f"{name}.bin")
        assert "lipgnn.from_dgl(" in caught.value.hint
    (tmp_path / "other.bin").write_bytes(b"something else")
    with pytest.raises(DataError, match="no readable format"):
        read(tmp_path / "other.bin")
