import json

import pytest

from lipgnn.words import counted, unreadable


@pytest.mark.parametrize("number, words", [(0, "0 runs"), (1, "1 run"), (2, "2 runs"), (1200, "1,200 runs")])
def test_one_is_no_plural(number, words):
    assert counted(number, "run") == words


def test_what_python_says_of_a_file_is_said_in_words(tmp_path):
    def reason(read):
        with pytest.raises((OSError, ValueError, KeyError, TypeError)) as caught:
            read()
        return unreadable(caught.value)

    assert reason(lambda: json.loads("{")) == "it is no JSON from line 1, column 2 on"
    assert reason(lambda: json.loads(b"\xff\xfe\xfa")) == "it is no text"
    assert reason((tmp_path / "none").read_bytes) == "No such file or directory"
    assert reason(lambda: {}["name"]) == "it has no 'name'"
    assert reason(lambda: iter(1)) == "it holds something else"
    assert unreadable(RecursionError()) == "it is nested too deeply"
    assert unreadable(ValueError("it is old")) == "it is old"
