"""Where names lead: shipped files, the data directory, paths, and errors that say what to do."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lipgnn
from lipgnn.datasets.locate import cached, data_directory, locate, shipped_directory
from lipgnn.errors import DataError, LipgnnError, UsageError


def _touch(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()


@pytest.fixture(autouse=True)
def _empty_working_directory(tmp_path, monkeypatch):
    (tmp_path / "cwd").mkdir()
    monkeypatch.chdir(tmp_path / "cwd")


@pytest.fixture
def data_dir(tmp_path, monkeypatch):
    monkeypatch.setenv("LIPGNN_DATA", str(tmp_path / "data"))
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


def test_data_directory(monkeypatch, data_dir):
    assert data_directory() == data_dir
    monkeypatch.setenv("LIPGNN_DATA", "")
    assert data_directory().name == "lipgnn"


def test_shipped_data_is_found_in_a_checkout_and_in_an_installation(tmp_path, monkeypatch):
    assert (shipped_directory() / "cora.npz").is_file()
    monkeypatch.setattr(lipgnn, "__file__", str(tmp_path / "site" / "lipgnn" / "__init__.py"))
    assert shipped_directory() == tmp_path / "site" / "data"
    (tmp_path / "site" / "lipgnn" / "data").mkdir(parents=True)
    assert shipped_directory() == tmp_path / "site" / "lipgnn" / "data"


@pytest.mark.parametrize(
    ("name", "file", "found"),
    [
        ("texas", "texas.npz", "texas.npz"),
        ("texas", "texas/out1_graph_edges.txt", "texas"),
        ("texas", "geom-gcn/new_data/texas/out1_graph_edges.txt", "geom-gcn/new_data/texas"),
        ("tiny", "planetoid/ind.tiny.graph", "planetoid/ind.tiny"),
        ("ogbn-arxiv", "ogbn_arxiv/raw/edge.csv.gz", "ogbn_arxiv"),
        ("mine", "mine/nodes.csv", "mine"),
        ("minesweeper", "minesweeper.npz", "minesweeper.npz"),
        ("roman-empire", "roman_empire.npz", "roman_empire.npz"),
        ("roman-empire", "heterophilous/roman_empire.npz", "heterophilous/roman_empire.npz"),
        ("other-set", "heterophilous/other_set.npz", "heterophilous/other_set.npz"),
        ("coauthor-cs", "gnn-benchmark/ms_academic_cs.npz", "gnn-benchmark/ms_academic_cs.npz"),
        ("coauthor-cs", "ms_academic_cs.npz", "ms_academic_cs.npz"),
    ],
)
def test_places_in_the_data_directory(data_dir, tmp_path, name, file, found):
    _touch(data_dir, file)
    assert locate(name) == data_dir / found
    _touch(tmp_path / "other", file)
    assert locate(name, data_dir=tmp_path / "other") == tmp_path / "other" / found


def test_shipped_names_are_not_shadowed(data_dir):
    _touch(data_dir, "cora.npz")
    assert locate("cora") == shipped_directory() / "cora.npz"
    assert cached() == []


@pytest.mark.parametrize(
    ("name", "place"), [("texas", "geom-gcn"), ("ogbn-arxiv", "ogbn_arxiv"), ("actor", "heterophilous")]
)
def test_known_data_that_is_not_there_says_where_to_put_it(data_dir, name, place):
    with pytest.raises(DataError) as caught:
        locate(name)
    assert caught.value.exit_code == 4 and repr(name) in caught.value.message
    assert repr(str(data_dir / place)) in caught.value.hint and "LIPGNN_DATA" in caught.value.hint


def test_what_can_be_fetched_says_how(data_dir):
    with pytest.raises(DataError) as caught:
        locate("ogbn-products:undirected")
    assert "lipgnn datasets fetch ogbn-products" in caught.value.hint and "products.zip" in caught.value.hint


def test_a_suffix_does_not_move_data(data_dir, tmp_path):
    _touch(data_dir, "mine.npz")
    assert locate("mine:undirected") == data_dir / "mine.npz"
    assert locate("cora:undirected") == locate("cora")
    assert locate(f"{data_dir / 'mine.npz'}:undirected") == data_dir / "mine.npz"
    for name in ("mine:undirectd", "ogbn-arxiv:direct", "cora:"):
        with pytest.raises(UsageError) as caught:
            locate(name)
        assert ":undirected'" in caught.value.hint


def test_generated_data_has_no_file(data_dir):
    _touch(data_dir, "planted.npz")
    with pytest.raises(DataError, match="'planted' is made when it is loaded"):
        locate("planted")
    assert cached() == []


def test_a_file_is_listed_once_under_the_name_of_its_data_set(data_dir):
    _touch(data_dir, "chameleon_filtered.npz", "heterophilous/minesweeper.npz", "mine.npz")
    assert [name for name, _ in cached()] == ["chameleon-filtered", "mine", "minesweeper"]


def test_what_is_generated_at_any_size_has_no_file(data_dir):
    with pytest.raises(DataError, match="'minesweeper:50' is made when it is loaded"):
        locate("minesweeper:50")


def test_unknown_words_get_the_nearest_name(data_dir):
    _touch(data_dir, "mine.npz")
    with pytest.raises(UsageError) as caught:
        locate("coraa")
    assert "Did you mean 'cora'?" in caught.value.hint and "mine" in caught.value.hint


def test_every_name_is_listed_once(data_dir):
    _touch(data_dir, "mine.npz", "minesweeper.npz", "geom-gcn/new_data/film/out1_graph_edges.txt")
    with pytest.raises(UsageError) as caught:
        locate("nope")
    names = caught.value.hint.removeprefix("Valid: ").removesuffix(".").split(", ")
    assert len(set(names)) == len(names) and {"mine", "minesweeper", "film"} <= {*names}


@pytest.mark.parametrize("text", ["missing.npz", "no/such", "nodes.csv", "", "x" * 5000, "a\0b", "../mine", "\udc80"])
def test_paths_that_lead_nowhere(data_dir, text):
    _touch(data_dir, "mine.npz")
    with pytest.raises(DataError, match="No such file or folder") as caught:
        locate(text)
    assert repr(text) in caught.value.message


def test_existing_paths(tmp_path, data_dir):
    _touch(tmp_path, "cwd/here/nodes.csv", "cwd/ind.a.graph", "cwd/cora/nodes.csv")
    assert locate("here") == Path("here")
    assert locate("./ind.a") == Path("ind.a")
    assert locate(Path("cora")) == Path("cora")
    assert locate("cora") != Path("cora")


@given(name=st.text(max_size=20))
def test_names_never_climb_out_of_the_data_directory(name, tmp_path_factory):
    directory = tmp_path_factory.getbasetemp() / "nowhere"
    try:
        found = locate(name, data_dir=directory)
    except LipgnnError:
        return
    assert found.parent == shipped_directory() or found == Path(name)


def test_cached_lists_what_can_be_named(data_dir):
    _touch(data_dir, "b.npz", "a/nodes.csv", "ogbn_arxiv/raw/edge.csv.gz", "no name.npz", "notes.txt", "empty/x")
    _touch(data_dir, "geom-gcn/new_data/film/out1_graph_edges.txt", "planetoid/ind.cora.graph")
    assert cached() == [
        ("a", data_dir / "a"),
        ("b", data_dir / "b.npz"),
        ("film", data_dir / "geom-gcn" / "new_data" / "film"),
        ("ogbn-arxiv", data_dir / "ogbn_arxiv"),
    ]
    assert cached(data_dir / "missing") == []


def test_a_path_is_written_down_so_that_it_leads_there_from_anywhere(data_dir, tmp_path, monkeypatch):
    from lipgnn.datasets.locate import settled

    _touch(data_dir, "mine.npz")
    desk = tmp_path / "desk"
    (desk / "graphs" / "own").mkdir(parents=True)
    (desk / "mine").mkdir()
    monkeypatch.chdir(desk)
    own = str(desk / "graphs" / "own")
    assert {settled(text) for text in ("graphs/own", "./graphs/own", "../desk/graphs/own", own)} == {own}
    assert settled("graphs/own:undirected") == f"{own}:undirected"
    # Names are names, also where a folder is called so.
    for name in ("mine", "cora", "cora:directed", "trees:3", "minesweeper:50", "nothing-here"):
        assert settled(name) == name


def test_data_stays_where_an_earlier_version_put_it(tmp_path, monkeypatch):
    from lipgnn.datasets.locate import VARIABLE, data_directory

    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    usual, earlier = tmp_path / "data" / "lipgnn", tmp_path / "cache" / "lipgnn"
    assert data_directory() == usual
    (earlier / "cache").mkdir(parents=True)
    assert data_directory() == usual
    (earlier / "mine.npz").touch()
    assert data_directory() == earlier
    usual.mkdir(parents=True)
    assert data_directory() == usual
