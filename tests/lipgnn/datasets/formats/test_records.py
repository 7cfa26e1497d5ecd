import gzip

import pytest

from lipgnn.datasets.formats.records import read_records, texts
from lipgnn.errors import DataError


def test_text_files_keep_texts_and_may_be_gzipped(tmp_path):
    (tmp_path / "a.tsv").write_text("id\tx\n007\tNA\n")
    assert read_records(tmp_path / "a.tsv") == {"id": ("007",), "x": ("NA",)}
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"id,x\n1,2\n3,4\n"))
    assert read_records(tmp_path / "a.csv.gz") == {"id": ("1", "3"), "x": ("2", "4")}


@pytest.mark.parametrize("text", ["% by SNAP\n1 2\n\n3\t4\n", "1,2\n3, 4\n"])
def test_a_list_of_edges_has_two_ids_in_a_line(tmp_path, text):
    (tmp_path / "edges.txt").write_text(text)
    assert read_records(tmp_path / "edges.txt") == {"source": ("1", "3"), "target": ("2", "4")}


def test_a_third_field_of_an_edge_is_its_weight(tmp_path):
    (tmp_path / "e.edgelist").write_text("1 2 0.5\n")
    assert read_records(tmp_path / "e.edgelist")["weight"] == ("0.5",)


@pytest.mark.parametrize("text", ["1\n", "1 2\n1 2 3\n", "1 2 3 4\n"])
def test_lines_that_are_no_edges_are_named(tmp_path, text):
    (tmp_path / "edges.txt").write_text(text)
    with pytest.raises(DataError, match="an edge has two ids"):
        read_records(tmp_path / "edges.txt")


@pytest.mark.real("pyarrow")
def test_parquet_keeps_numbers_lists_and_holes(tmp_path):
    import pyarrow
    from pyarrow import parquet

    columns = {"id": ["a", "b"], "label": [1, None], "f": [[0.5, 1.0], [2.0, 3.0]]}
    parquet.write_table(pyarrow.table(columns), tmp_path / "nodes.parquet")
    found = read_records(tmp_path / "nodes.parquet")
    assert found == columns and texts(found["label"]) == ("1", "")
    (tmp_path / "nodes.parquet").write_bytes(b"PAR1 and nothing")
    with pytest.raises(DataError, match="not a Parquet file"):
        read_records(tmp_path / "nodes.parquet")


@pytest.mark.real("pyarrow")
def test_tables_of_parquet_are_a_data_set(tmp_path):
    import pyarrow
    from pyarrow import parquet

    from lipgnn.datasets import read

    nodes = {"id": [10, 20], "label": ["x", "y"], "embedding": [[0.5, 1.0], [2.0, 3.0]], "age": [7, 8]}
    parquet.write_table(pyarrow.table(nodes), tmp_path / "nodes.parquet")
    parquet.write_table(pyarrow.table({"src": [10], "dst": [20]}), tmp_path / "edges.parquet")
    source = read(tmp_path)
    assert source.features.tolist() == [[0.5, 1.0, 7.0], [2.0, 3.0, 8.0]]
    assert (source.node_ids.tolist(), source.edges.tolist()) == (["10", "20"], [[0], [1]])


@pytest.mark.parametrize(
    "name, header, words, remedy",
    [
        ("nodes.csv", "id;label;f1", "separated by semicolons, and those of a .csv by commas", "with commas"),
        ("nodes.csv.gz", "id|label", "separated by vertical bars, and those of a .csv by commas", "with commas"),
        ("nodes.csv", "id\tlabel", "separated by tabs, and those of a .csv by commas", "Call it .tsv."),
        ("nodes.tsv", "id,label", "separated by commas, and those of a .tsv by tabs", "with commas, as .csv"),
    ],
)
def test_other_separators_than_the_suffix_says_are_named(tmp_path, name, header, words, remedy):
    """Also where a decimal comma cuts the rows below into several fields."""
    content = f"{header}\n1;0,5;2\n".encode()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    with pytest.raises(DataError) as caught:
        read_records(tmp_path / name)
    assert words in caught.value.message and remedy in caught.value.hint


@pytest.mark.parametrize("text", ["", "\n", "\n\n"])
def test_an_empty_table_is_called_empty(tmp_path, text):
    (tmp_path / "nodes.csv").write_text(text)
    with pytest.raises(DataError, match="it is empty") as caught:
        read_records(tmp_path / "nodes.csv")
    assert "names its columns" in caught.value.hint
