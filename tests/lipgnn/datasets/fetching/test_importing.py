"""Importing: the file written is the source read, under a name that can be used and is not taken."""

from __future__ import annotations

import pytest
from five_files import write_five_files
from pictures import write_idx_folder

from lipgnn.datasets import read, write_npz
from lipgnn.datasets.fetching.importing import import_source
from lipgnn.errors import DataError, UsageError


@pytest.fixture
def data_dir(tmp_path, monkeypatch):
    monkeypatch.setenv("LIPGNN_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.fixture
def file(tmp_path, make_source):
    path = tmp_path / "my graph.npz"
    write_npz(make_source(), path)
    return path


def test_what_was_imported_can_be_read_by_name(file, data_dir, same):
    assert import_source(file) == (data_dir / "my-graph.npz", ())
    imported = read("my-graph")
    same(imported, read(file))
    assert imported.name == "my-graph"


def test_tables_and_direction(tmp_path, data_dir):
    (tmp_path / "people.csv").write_text("id,label,f\na,0,1\nb,1,2\n")
    (tmp_path / "friends.csv").write_text("source,target\na,b\n")
    target, _ = import_source(tmp_path / "people.csv", edges=tmp_path / "friends.csv", directed=True)
    assert target == data_dir / "people.npz"
    source = read("people")
    assert source.directed and source.edges.tolist() == [[0], [1]]


@pytest.mark.parametrize("name", ["cora", "planted", "../up", "", "a.b", "x" * 65])
def test_names_that_cannot_be_used(file, data_dir, name):
    with pytest.raises(UsageError, match="name"):
        import_source(file, name=name)
    assert not data_dir.exists()


def test_an_earlier_import_is_kept_unless_forced(file, data_dir, make_source):
    target, _ = import_source(file, name="mine")
    before = target.read_bytes()
    write_npz(make_source(directed=True), file)
    with pytest.raises(UsageError, match="exists"):
        import_source(file, name="mine")
    assert target.read_bytes() == before
    import_source(file, name="mine", force=True)
    assert read("mine").directed


def test_damaged_sources_leave_nothing(file, data_dir):
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(DataError):
        import_source(file)
    assert not data_dir.exists()


@pytest.mark.parametrize("write, what", [(write_five_files, "Gretel's five files"), (write_idx_folder, "idx files")])
def test_trajectories_and_images_are_used_where_they_lie(write, what, data_dir, tmp_path):
    write(tmp_path / "mine")
    with pytest.raises(UsageError, match=f"{what}.*only a graph of labelled nodes can be one npz file"):
        import_source(tmp_path / "mine")
    assert not data_dir.exists()


def test_columns_are_for_tables(data_dir, file, tmp_path):
    with pytest.raises(UsageError, match="--columns says what the columns of tables are"):
        import_source(file, columns="id=paper")
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "nodes.csv").write_text("paper,topic,f\n1,x,1\n2,y,2\n")
    (folder / "edges.csv").write_text("src,dst,w\n1,2,3\n")
    target, remarks = import_source(folder, columns="id=paper,label=topic,ignore=w")
    source = read(target)
    assert (source.class_names, source.node_ids.tolist()) == (("x", "y"), ["1", "2"])
    assert remarks == ("Columns of edges.csv were taken: 'src' as source, 'dst' as target.",)


def test_what_cannot_be_learned_is_said_at_once(data_dir, tmp_path):
    folder = tmp_path / "alike"
    folder.mkdir()
    (folder / "nodes.csv").write_text("id,label\na,x\nb,x\n")
    (folder / "edges.csv").write_text("source,target\n")
    _, remarks = import_source(folder)
    assert len(remarks) == 2 and "no edge between two nodes" in remarks[0] and "of one class" in remarks[1]
