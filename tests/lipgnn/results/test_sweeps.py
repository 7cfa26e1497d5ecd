import pytest

from lipgnn.errors import DataError, UsageError
from lipgnn.results.sweeps import find_sweep, note_sweep, read_sweeps

A, B, C = "aa1100000000", "ab2200000000", "ac3300000000"


def test_the_last_sweep_is_the_one_that_began_last(tmp_path):
    note_sweep(tmp_path, [A, B], "first")
    note_sweep(tmp_path, [B, C, C], "second")
    assert find_sweep(tmp_path, "last").name == "second"
    assert find_sweep(tmp_path, "second").runs == (B, C)
    note_sweep(tmp_path, [A], "first")
    assert (find_sweep(tmp_path, "last").name, find_sweep(tmp_path, "first").runs) == ("first", (A,))


def test_a_sweep_without_a_name_that_goes_on_is_one_sweep(tmp_path):
    first = note_sweep(tmp_path, [A, B])
    again = note_sweep(tmp_path, [B, A])
    assert (first.name, len(read_sweeps(tmp_path))) == (again.name, 1)
    assert again.began > first.began


def test_names_that_no_sweep_has_or_can_have_are_refused(tmp_path):
    with pytest.raises(UsageError, match="No sweep was begun"):
        find_sweep(tmp_path, "last")
    note_sweep(tmp_path, [A], "grid")
    with pytest.raises(UsageError) as caught:
        find_sweep(tmp_path, "gird")
    assert "Did you mean 'grid'" in caught.value.hint
    for name in ("last", "../x", ""):
        with pytest.raises(UsageError):
            note_sweep(tmp_path, [A], name)


@pytest.mark.parametrize("content", [b"", b"[]", b'{"schema": 2, "began": "", "runs": []}', b'{"schema": 1}'])
def test_a_damaged_file_is_named(tmp_path, content):
    note_sweep(tmp_path, [A], "grid")
    (tmp_path / "sweeps" / "grid.json").write_bytes(content)
    with pytest.raises(DataError, match=r"grid\.json"):
        read_sweeps(tmp_path)
