import pytest

from lipgnn.errors import DataError, UsageError
from lipgnn.results.labels import FILE, Labels, add_labels, check_label, find_named, read_labels, write_labels


@pytest.fixture
def folders(tmp_path):
    both = [tmp_path / name for name in ("aa1100000000", "ab2200000000")]
    for folder in both:
        folder.mkdir()
    return both


def test_labels_add_up_and_a_name_is_of_one_run(folders):
    first, second = folders
    assert read_labels(first) == Labels()
    add_labels(first, name="best", tags=["paper"])
    assert add_labels(first, tags=["paper", "draft"]) == Labels("best", ("paper", "draft")) == read_labels(first)
    assert find_named(first.parent, "best") == first
    add_labels(second, name="best")
    assert read_labels(first) == Labels(None, ("paper", "draft"))
    assert find_named(first.parent, "best") == second
    assert find_named(first.parent, "other") is None


def test_nothing_is_written_where_nothing_is_given(folders):
    add_labels(folders[0])
    assert not (folders[0] / FILE).exists()
    write_labels(folders[0], Labels())
    assert read_labels(folders[0]) == Labels()


@pytest.mark.parametrize("text", ["", "a b", "-a", "a/b", "..", "x" * 65, "ü", "a\n"])
def test_texts_that_are_no_labels_are_refused(text):
    with pytest.raises(UsageError):
        check_label("tag", text)


def test_a_name_cannot_be_taken_for_an_id():
    with pytest.raises(UsageError, match="could be the id"):
        check_label("name", "beef")
    assert check_label("tag", "beef") == "beef"
    assert check_label("name", "best-30") == "best-30"


@pytest.mark.parametrize("content", [b"", b"{}", b'{"name": 1, "tags": []}', b'{"name": null, "tags": [1]}', b"[]"])
def test_a_damaged_file_is_named(folders, content):
    (folders[0] / FILE).write_bytes(content)
    with pytest.raises(DataError, match="Cannot read the labels"):
        read_labels(folders[0])
