import pytest

from lipgnn.datasets import read


def test_import_then_train_by_name(invoke, data, tables):
    code, _, err = invoke("datasets", "import", tables, "--name", "mine")
    assert (code, (data / "mine.npz").exists()) == (0, True)
    assert "lipgnn datasets show mine" in err
    assert read("mine").class_names == ("blue", "red")
    assert invoke("train", "--dataset", "mine", "--layers", 1, "--epochs", 2)[0] == 0


def test_import_of_two_files_anywhere(invoke, data, tables, tmp_path):
    (tmp_path / "edges.csv").rename(tmp_path / "links.csv")
    assert invoke("datasets", "import", tables, "--edges", tmp_path / "links.csv", "--name", "m")[0] == 0
    assert read("m").edges.shape == (2, 2)


@pytest.mark.parametrize("flag, directed", [("--directed", True), ("--undirected", False)])
def test_import_takes_the_direction_it_is_told(invoke, data, tables, flag, directed):
    invoke("datasets", "import", tables, "--name", "m", flag)
    assert read("m").directed is directed


@pytest.mark.parametrize("name", ["../up", "a b", "", "cora", "x" * 100])
def test_import_refuses_names_that_are_paths_or_taken(invoke, data, tables, name):
    code, _, err = invoke("datasets", "import", tables, "--name", name)
    assert code == 2
    assert "--name" in err
    assert not data.exists() or not list(data.iterdir())


def test_import_overwrites_only_when_told(invoke, data, tables):
    assert [invoke("datasets", "import", tables, "--name", "m", *more)[0] for more in ((), (), ("--force",))] == [
        0,
        2,
        0,
    ]


def test_import_of_nothing_is_exit_4(invoke, data, tmp_path):
    assert invoke("datasets", "import", tmp_path / "none.npz")[0] == 4
    assert not data.exists()
