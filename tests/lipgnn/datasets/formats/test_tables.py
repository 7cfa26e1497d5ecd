"""Two CSV files to a data set."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from lipgnn.datasets.formats.tables import read_folder, read_tables
from lipgnn.errors import DataError

NODES = "id,height,label,split,weight\n007,1.5,cat,train,0\nNA,-2,dog,val,1e3\n7,0,cat,test,4\nx y,1,,,5\n"
EDGES = "source,target\n007,NA\nx y,7\n7,x y\n"


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "pets"
    path.mkdir()
    (path / "nodes.csv").write_text(NODES)
    (path / "edges.csv").write_text(EDGES)
    return path


def test_everything_is_where_it_belongs(folder):
    source = read_folder(folder)
    assert source.name == "pets" and not source.directed and source.class_names == ("cat", "dog")
    assert source.labels.tolist() == [0, 1, 0, -1]
    assert source.features.tolist() == [[1.5, 0], [-2, 1000], [0, 4], [1, 5]]
    assert source.edges.tolist() == [[0, 3, 2], [1, 2, 3]]
    parts = source.splits["public"].parts
    assert [np.flatnonzero(mask).tolist() for mask in parts.values()] == [[0], [1], [2]]


def test_gzipped_and_by_the_path_of_the_nodes(folder, same):
    expected = read_folder(folder)
    for name in ("nodes", "edges"):
        (folder / f"my_{name}.csv.gz").write_bytes(gzip.compress((folder / f"{name}.csv").read_bytes()))
    same(read_folder(folder / "my_nodes.csv.gz"), expected)
    same(read_tables(folder / "nodes.csv", folder / "my_edges.csv.gz", name="mixed"), expected)


def test_integer_labels_keep_their_numbers(folder):
    (folder / "nodes.csv").write_text("id,label,f\na,2,1\nb,0,1\nc,1,1\n")
    (folder / "edges.csv").write_text("source,target\n")
    source = read_folder(folder)
    assert source.labels.tolist() == [2, 0, 1] and source.class_names is None and source.splits == {}
    assert source.edges.shape == (2, 0)


def test_other_integers_become_names(folder):
    (folder / "nodes.csv").write_text("id,label,f\na,10,1\nb,5,1\n")
    (folder / "edges.csv").write_text("source,target\na,b\n")
    source = read_folder(folder)
    assert source.labels.tolist() == [0, 1] and source.class_names == ("10", "5")


@pytest.mark.parametrize(
    ("file", "text", "reason"),
    [
        ("nodes.csv", "label,f\na,1\n", "no column is the id; it has 'label', 'f'"),
        ("nodes.csv", NODES + "7,0,cat,test,4\n", "id '7' is there twice"),
        ("nodes.csv", NODES.replace("1e3", "tall"), "feature column 'weight'"),
        ("nodes.csv", NODES.replace("1e3", ""), "not a number"),
        ("nodes.csv", NODES.replace("1e3", "1e300"), "infinite"),
        ("nodes.csv", NODES.replace(",val,", ",later,"), "split 'later'"),
        ("nodes.csv", NODES + "y,1,cat,train,2,3\n", "row 6 has 6 fields, the header 5"),
        ("nodes.csv", NODES + "y,1\n", "row 6 has 2 fields, the header 5"),
        ("nodes.csv", NODES.replace("\n", ",1\n").replace("weight,1", "weight"), "row 2 has 6 fields"),
        ("nodes.csv", "id,label,f,f\na,0,1,1\n", "two columns"),
        ("nodes.csv", "id,label,f\n", "is no id"),
        ("nodes.csv", "id,label,f\na,0,1\na,0,1\n", "id 'a' is there twice"),
        ("nodes.csv", 'id,label,f\n"a,0,1\n', "not a table"),
        ("nodes.csv", "", "it is empty"),
        ("edges.csv", "source\n007\n", "an edge needs two columns, source and target, and it has only 'source'"),
        ("edges.csv", "source,target\n007,8\n", "target '8' is no id"),
        ("edges.csv", "here,to\n007,7\n", "no column is the source"),
        ("edges.csv", "src,from,to\n007,7,7\n", "columns 'src' and 'from' could both be the source"),
        ("edges.csv", "source,target,weight\n007,7,2\n", "column 'weight' has weights of edges"),
    ],
)
def test_wrong_tables_are_refused_with_the_reason(folder, file, text, reason):
    (folder / file).write_text(text)
    with pytest.raises(DataError, match=reason) as caught:
        read_folder(folder)
    assert "pets" in caught.value.message


def test_missing_files(folder):
    (folder / "edges.csv").unlink()
    with pytest.raises(DataError, match=r"no edges\.csv"):
        read_folder(folder)
    with pytest.raises(DataError, match=r"edges\.csv'.*No such file"):
        read_folder(folder / "nodes.csv")
    (folder / "other.csv").write_text(NODES)
    with pytest.raises(DataError, match="must contain 'nodes'"):
        read_folder(folder / "other.csv")


def test_damaged_gzip_and_bytes_that_are_no_text(folder):
    (folder / "edges.csv").unlink()
    for content in (gzip.compress(EDGES.encode())[:-9], b"no gzip", gzip.compress(b"source,target\n\xff,\xfe\n")):
        (folder / "edges.csv.gz").write_bytes(content)
        with pytest.raises(DataError, match=r"edges\.csv\.gz"):
            read_folder(folder)


def test_a_table_may_have_no_feature_columns(folder):
    (folder / "nodes.csv").write_text("id,label\n007,a\nNA,b\n7,a\nx y,a\n")
    assert read_folder(folder).features.shape == (4, 0)


def test_types_of_edges_are_numbered_as_labels_are(folder):
    assert read_folder(folder).edge_types is None
    (folder / "edges.csv").write_text("source,type,target\n007,road,NA\nx y,rail,7\n7,road,x y\n")
    source = read_folder(folder)
    assert source.edges.tolist() == [[0, 3, 2], [1, 2, 3]] and source.edge_types.tolist() == [1, 0, 1]
    (folder / "edges.csv").write_text("source,target,type\n007,NA,2\nx y,7,0\n7,x y,1\n")
    assert read_folder(folder).edge_types.tolist() == [2, 0, 1]


def test_an_edge_without_a_type_among_others_is_refused(folder):
    (folder / "edges.csv").write_text("source,target,type\n007,NA,2\nx y,7,\n")
    with pytest.raises(DataError, match="the edge of row 3 has no type, and others have one"):
        read_folder(folder)


def test_ids_are_kept_and_labels_may_be_left_out(tmp_path):
    (tmp_path / "nodes.csv").write_text("id,split,f\n007,train,1\nb,,2\n")
    (tmp_path / "edges.csv").write_text("source,target\n007,b\n")
    read = read_folder(tmp_path)
    assert read.node_ids.tolist() == ["007", "b"] and read.labels.tolist() == [-1, -1] and read.splits == {}


def test_usual_names_of_columns_are_taken_and_said(tmp_path):
    (tmp_path / "nodes.csv").write_text("Node_ID,Class,fold,height\na,x,training,1\nb,y,dev,2\nc,x,test,3\n")
    (tmp_path / "edges.tsv").write_text("src\tdst\tyear\na\tb\t1999\nb\tc\t2001\n")
    source = read_folder(tmp_path)
    assert (source.node_ids.tolist(), source.class_names) == (["a", "b", "c"], ("x", "y"))
    assert source.features.tolist() == [[1], [2], [3]]
    assert [mask.tolist().index(True) for mask in source.splits["public"].parts.values()] == [0, 1, 2]
    assert source.edges.tolist() == [[0, 1], [1, 2]]
    assert source.remarks == (
        "Columns of nodes.csv were taken: 'Node_ID' as id, 'Class' as label, 'fold' as split.",
        "Columns of edges.tsv were taken: 'src' as source, 'dst' as target.",
        "Columns of edges.tsv that are not used: 'year'.",
    )


def test_columns_can_be_given_left_out_and_be_several_splits(tmp_path):
    (tmp_path / "nodes.csv").write_text("paper,topic,title,split_0,split_b,f\n1,x,A,train,,1\n2,y,B,val,train,2\n")
    (tmp_path / "edges.txt").write_text("# a comment\n1 2\n2, 1\n")
    given = {"id": ("paper",), "label": ("topic",), "ignore": ("title",)}
    source = read_tables(tmp_path / "nodes.csv", tmp_path / "edges.txt", name="mine", given=given)
    assert (source.features.tolist(), source.remarks) == ([[1], [2]], ())
    trained_on = {name: split.train.tolist() for name, split in source.splits.items()}
    assert trained_on == {"0": [True, False], "b": [False, True]}
    with pytest.raises(DataError) as caught:
        read_tables(tmp_path / "nodes.csv", tmp_path / "edges.txt", name="mine", given=given | {"ignore": ()})
    assert "feature column 'title'" in str(caught.value) and "--columns ignore=title" in caught.value.hint


def test_a_misspelt_column_to_ignore_is_no_feature_in_silence(folder):
    assert read_folder(folder, {"ignore": ("weight",)}).num_features == 1
    with pytest.raises(DataError, match="no column 'wieght' to ignore"):
        read_folder(folder, {"ignore": ("wieght",)})


def test_a_text_column_may_be_the_label_where_there_is_none(folder):
    (folder / "nodes.csv").write_text("id,lab,f\n007,x,1\n")
    (folder / "edges.csv").write_text("source,target\n")
    with pytest.raises(DataError, match="feature column 'lab'") as caught:
        read_folder(folder)
    assert "ignore=lab" in caught.value.hint and "label=lab" in caught.value.hint
    with pytest.raises(DataError) as caught:
        read_folder(folder, {"label": ("f",)})
    assert "ignore=lab" in caught.value.hint and "label=" not in caught.value.hint
