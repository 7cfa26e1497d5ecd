import pytest

from lipgnn.errors import UsageError
from lipgnn.spec.toml import read_toml


def test_the_content_is_plain_values(tmp_path):
    path = tmp_path / "a.toml"
    path.write_text('title = "ä"\n[grid]\nlayers = [2, 4]\n')
    content = read_toml(path, "sweep")
    assert content == {"title": "ä", "grid": {"layers": [2, 4]}}
    assert type(content["grid"]) is dict and type(content["grid"]["layers"][0]) is int


@pytest.mark.parametrize("content", [b"[grid", b"layers =", b"\xff\xfe", None])
def test_what_cannot_be_read_is_named(tmp_path, content):
    path = tmp_path / "a.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UsageError) as caught:
        read_toml(path, "sweep")
    assert caught.value.message.startswith(f"Cannot read the sweep {str(path)!r}: ")


@pytest.mark.parametrize(
    "content, reason",
    [
        (b"layers = [2,", "it ends in the middle of a value or a name."),
        (b"layers = ", "it ends in the middle of a value or a name."),
        (b"\x89PNG\r\n", "it is no text."),
        (b"PK\x03\x04\x00\x00", "it is no text."),
        (b"a = [1\nb = 2]", "Unexpected character: 'b' at line 2 col 0."),
    ],
)
def test_the_reason_is_in_words(tmp_path, content, reason):
    path = tmp_path / "a.toml"
    path.write_bytes(content)
    with pytest.raises(UsageError) as caught:
        read_toml(path, "configuration")
    assert caught.value.message == f"Cannot read the configuration {str(path)!r}: {reason}"
