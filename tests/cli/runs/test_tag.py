import pytest

from lipgnn.results.labels import Labels, read_labels

RUN = "ab2200000000"


def test_tags_and_a_name_are_given_and_taken(invoke, two_runs):
    path = two_runs.run(RUN).path
    assert invoke("runs", "tag", "ab", "paper", "draft", "--name", "best")[0] == 0
    assert read_labels(path) == Labels("best", ("paper", "draft"))
    # It was the other run's.
    assert read_labels(two_runs.run("aa1100000000").path).name is None
    assert invoke("runs", "tag", "best", "draft", "--remove")[0] == 0
    assert read_labels(path) == Labels("best", ("paper",))
    assert invoke("runs", "tag", "ab", "--remove")[0] == 0
    assert read_labels(path) == Labels()


@pytest.mark.parametrize(
    "words", [("ab",), ("ab", "no good"), ("ab", "--name", "beef"), ("ab", "--name", "x-y", "--remove"), ("ff", "a")]
)
def test_bad_input_changes_nothing(invoke, two_runs, words):
    assert invoke("runs", "tag", *words)[0] == 2
    assert read_labels(two_runs.run(RUN).path) == Labels()
