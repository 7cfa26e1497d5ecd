import numpy as np
import pytest
from crossroads import crossroads, model_for

from lipgnn.errors import DataError, UsageError
from lipgnn.extrapolate import prefix_of

ROADS = crossroads()
SPEC = model_for(ROADS).spec  # which is shown two observations


def test_of_a_list_of_nodes_the_last_are_shown():
    prefix = prefix_of("3,2,0,1", ROADS, SPEC)
    assert prefix.nodes.tolist() == [[0], [1]] and prefix.weights.tolist() == [[1], [1]]
    assert prefix.truth is None


def test_a_file_has_an_observation_on_every_line(tmp_path):
    path = tmp_path / "seen.txt"
    path.write_text("5\t1\t0\t0\n0\t0.75\t1\t0.25\n1\t0.5\t2\t0.5\n")
    prefix = prefix_of(str(path), ROADS, SPEC)
    assert prefix.nodes.tolist() == [[0, 1], [1, 2]] and prefix.weights.tolist() == [[0.75, 0.25], [0.5, 0.5]]


def test_of_a_trajectory_the_truth_is_known():
    prefix = prefix_of("trajectory:3", ROADS, SPEC)
    np.testing.assert_array_equal(prefix.nodes, ROADS.observed_nodes[9:11])
    assert prefix.truth.edges.tolist() == [2, 6]
    assert prefix.truth.target_nodes.tolist() == [3, 2] and prefix.truth.target_weights.tolist() == [0.5, 0.5]
    assert prefix.origin == "trajectory 3, observations 1 to 2 of 3"


def test_at_its_end_it_is_not():
    prefix = prefix_of("trajectory:3:3", ROADS, SPEC)
    np.testing.assert_array_equal(prefix.nodes, ROADS.observed_nodes[10:12])
    assert prefix.truth is None


def test_the_truth_goes_as_far_as_the_model_was_trained_to():
    spec = SPEC.with_values(observed=1, predict="destination")
    assert prefix_of("trajectory:0", ROADS, spec).truth.edges.tolist() == [0, 2, 6]
    assert prefix_of("trajectory:0", ROADS, SPEC.with_values(observed=1)).truth.edges.tolist() == [0]


def test_the_first_trajectory_of_the_test_part():
    first = int(ROADS.split.parts["test"].argmax())
    assert prefix_of("trajectory:test", ROADS, SPEC).origin.startswith(f"trajectory {first},")


@pytest.mark.parametrize(
    "text, words",
    [
        ("1", "shown 2 observations, and the list of nodes has 1"),
        ("0,6", "no node 6 in data set 'crossroads'"),
        ("trajectory:12", "no trajectory 12"),
        ("trajectory:x", "'trajectory:x' is no trajectory"),
        ("trajectory:0:1", "the first 1 were asked for, and the model is shown 2"),
        ("trajectory:0:4", "which has 3 observations, the first 4"),
        ("trajectory:test:3", "more than 3 observations"),
    ],
)
def test_what_there_is_not_is_refused(text, words):
    with pytest.raises(UsageError) as caught:
        prefix_of(text, ROADS, SPEC)
    assert words in caught.value.message and caught.value.hint


@pytest.mark.parametrize(
    "content, words",
    [
        ("", "line 1: it has no observation"),
        ("0\t1\n1\t0.5\n", "line 2: its weights sum to 0.5 and not to 1"),
        ("0\t1\n6\t1\n", "line 2: node 6 is none of 0 to 5"),
        ("0\t1\n1\n", "line 2: it has 1 cells in place of 2"),
        ("0\n", "line 1: it has 1 cells in place of 2"),
        ("0\t1\na\t1\n", "line 2: 'a' is not a number"),
        ("0\t0.5\t0\t0.5\n", "line 1: it has a node twice"),
        ("0\t1.5\t1\t-0.5\n", "line 1: a weight is negative"),
    ],
)
def test_a_file_that_is_no_list_of_observations_is_refused_with_its_line(tmp_path, content, words):
    path = tmp_path / "seen.txt"
    path.write_text(content)
    with pytest.raises(DataError) as caught:
        prefix_of(str(path), ROADS, SPEC)
    assert words in caught.value.message and "seen.txt" in caught.value.message


@pytest.mark.parametrize(
    "text, error",
    [
        ("nowhere.txt", DataError),
        ("x" * 5000, DataError),
        ("1,2,abc", UsageError),
        ("", UsageError),
        ("-1,2", UsageError),
    ],
)
def test_a_text_that_is_nothing_is_refused_with_what_it_may_be(text, error):
    with pytest.raises(error) as caught:
        prefix_of(text, ROADS, SPEC)
    assert f"The prefix {text!r} is " in caught.value.message and "trajectory:T" in caught.value.hint
