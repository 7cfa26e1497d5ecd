import networkx
import pytest

from lipgnn.datasets import read
from lipgnn.datasets.formats.graph_files import read_graph_file
from lipgnn.errors import DataError


@pytest.fixture
def graph():
    graph = networkx.Graph()
    for name, kind, split in (("a", "cat", "train"), ("b", "dog", "val"), ("c", "cat", "test")):
        graph.add_node(name, **{"class": kind, "split": split, "height": ord(name) / 2, "age": ord(name)})
    graph.add_edges_from([("a", "b"), ("b", "c")])
    return graph


@pytest.mark.parametrize("suffix", ["graphml", "gexf"])
def test_a_graph_of_networkx_is_read_back_equal(tmp_path, graph, suffix):
    path = tmp_path / f"pets.{suffix}"
    getattr(networkx, f"write_{suffix}")(graph, path)
    source = read(path)
    assert (source.name, source.node_ids.tolist()) == ("pets", ["a", "b", "c"])
    assert (source.class_names, source.labels.tolist(), source.directed) == (("cat", "dog"), [0, 1, 0], False)
    assert source.features.tolist() == [[ord(name) / 2, ord(name)] for name in "abc"]
    masks = [mask.tolist() for mask in source.splits["public"].parts.values()]
    assert masks == [[number == part for number in range(3)] for part in range(3)]
    listed = {frozenset(pair) for pair in source.edges.T.tolist()}
    assert listed == {frozenset(pair) for pair in ((0, 1), (1, 2))}


def test_the_text_beside_a_node_of_gexf_is_no_class(tmp_path, graph):
    for name, data in graph.nodes(data=True):
        data["label"] = f"shown as {name}"
    networkx.write_gexf(graph, tmp_path / "pets.gexf")
    assert read(tmp_path / "pets.gexf").class_names == ("cat", "dog")


def test_directions_are_kept(tmp_path, graph):
    networkx.write_graphml(graph.to_directed(), tmp_path / "pets.graphml")
    assert read(tmp_path / "pets.graphml").directed


@pytest.mark.parametrize("suffix", ["graphml", "gexf"])
def test_weights_are_refused(tmp_path, graph, suffix):
    graph["a"]["b"]["weight"] = 2.5
    getattr(networkx, f"write_{suffix}")(graph, tmp_path / f"pets.{suffix}")
    with pytest.raises(DataError, match="weights of edges"):
        read(tmp_path / f"pets.{suffix}")


@pytest.mark.parametrize("content", [b"", b"<graphml>", b"not xml", b"<a/>"])
@pytest.mark.parametrize("suffix", ["graphml", "gexf"])
def test_a_damaged_file_is_named(tmp_path, suffix, content):
    (tmp_path / f"pets.{suffix}").write_bytes(content)
    with pytest.raises(DataError, match="pets"):
        read(tmp_path / f"pets.{suffix}")


def test_entities_do_not_fill_the_memory_and_lead_to_no_file(tmp_path):
    levels = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 12))
    (tmp_path / "bomb.graphml").write_text(
        f'<?xml version="1.0"?><!DOCTYPE g [<!ENTITY a0 "ha">{levels}]><graphml>&a11;</graphml>'
    )
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "leak.graphml").write_text(
        f'<?xml version="1.0"?><!DOCTYPE g [<!ENTITY x SYSTEM "file://{tmp_path}/secret">]><graphml>&x;</graphml>'
    )
    for name in ("bomb", "leak"):
        with pytest.raises(DataError):
            read(tmp_path / f"{name}.graphml")


def test_weights_of_one_may_be_ignored_though_they_say_nothing(tmp_path, graph):
    for _, _, data in graph.edges(data=True):
        data["weight"] = 1
    networkx.write_graphml(graph, tmp_path / "pets.graphml")
    assert read_graph_file(tmp_path / "pets.graphml", {"ignore": ("weight",)}).num_nodes == 3
