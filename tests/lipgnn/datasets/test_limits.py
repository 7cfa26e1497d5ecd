import gzip

import pytest

from lipgnn.datasets import limits
from lipgnn.datasets.limits import check_memory, open_plain, read_text
from lipgnn.errors import DataError


@pytest.fixture
def small_limits(monkeypatch):
    """1 000 bytes for a file of up to 10, 100 times as much for a larger one, and 50 000 are free."""
    monkeypatch.setattr(limits, "SMALL_FILE", 10)
    monkeypatch.setattr(limits, "MOST_OF_SMALL", 1000)
    monkeypatch.setattr(limits, "free_memory", lambda: 50_000)


@pytest.mark.parametrize(
    "expected, size, fits",
    [
        (1000, 1, True),
        (1001, 10, False),
        (1100, 11, True),
        (1101, 11, False),
        (50_000, 600, True),
        (50_001, 600, False),
    ],
)
def test_the_limits_are_by_size_and_by_what_is_free(small_limits, tmp_path, expected, size, fits):
    if fits:
        check_memory(tmp_path, expected, size)
        return
    with pytest.raises(DataError, match=rf"{size:,} bytes would take {expected:,} of memory, and [\d,]+ are allowed"):
        check_memory(tmp_path, expected, size)


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_text_is_read_plain_or_gzipped_with_its_mark_left_out(tmp_path, suffix):
    content = "\ufeffa,ö\r\n".encode()
    path = tmp_path / f"x.csv{suffix}"
    path.write_bytes(gzip.compress(content) if suffix else content)
    assert read_text(path) == "a,ö\r\n"


def test_text_that_would_take_too_much_is_not_read_to_its_end(small_limits, tmp_path):
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(b"0" * 10**6, 9))
    allowed = 100 * path.stat().st_size // 8
    with pytest.raises(DataError, match=f"hold more than {allowed:,} of text"), open_plain(path) as file:
        while file.read(100):
            assert file.tell() <= allowed + 2**16


@pytest.mark.parametrize(
    "content", [b"", b"not gzipped", gzip.compress(b"text", mtime=0)[:-3], b"\x1f\x8b\x08\x00" + bytes(20)]
)
def test_what_cannot_be_unpacked_is_a_data_error_with_the_file(tmp_path, content):
    (tmp_path / "x.gz").write_bytes(content)
    if content:
        with pytest.raises(DataError, match=r"x\.gz"):
            read_text(tmp_path / "x.gz")
    else:
        assert read_text(tmp_path / "x.gz") == ""


@pytest.mark.parametrize("name", ["absent.csv", "a\0b.csv", "x" * 300, "."])
def test_what_cannot_be_opened_is_a_data_error(tmp_path, name):
    with pytest.raises(DataError, match="Cannot use"):
        read_text(tmp_path / name)


def test_what_is_no_utf_8_is_a_data_error(tmp_path):
    (tmp_path / "x.csv").write_bytes(b"\xff")
    with pytest.raises(DataError, match="utf-8"):
        read_text(tmp_path / "x.csv")
