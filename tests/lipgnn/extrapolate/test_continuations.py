import numpy as np
import pytest
from crossroads import EDGES, crossroads

from lipgnn.errors import DataError
from lipgnn.extrapolate import read_continuations
from lipgnn.extrapolate.continuations import continuations_of, decisions_along

ROADS = crossroads()


def test_lines_have_nodes_between_tabs_or_commas(tmp_path):
    path = tmp_path / "paths.txt"
    path.write_text("0,1,2\r\n3\n1\t2\t0\t0\n")
    found = read_continuations(path, ROADS)
    assert len(found) == 3 and found.sequences == [[0, 1, 2], [3], [1, 2, 0, 0]]
    assert found.decisions.path.tolist() == [0, 0, 2, 2, 2]


def test_steps_have_all_edges_between_their_nodes():
    decisions = continuations_of([[0, 1, 2], [2, 3]], ROADS).decisions
    by_step = {step: sorted(decisions.edge[decisions.step == step].tolist()) for step in range(3)}
    between = {pair: [e for e, ends in enumerate(EDGES) if ends == pair] for pair in ((0, 1), (1, 2), (2, 3))}
    assert by_step == dict(enumerate(between.values()))
    assert decisions.previous[decisions.step == 0].tolist() == [-1]
    assert decisions.previous[decisions.step == 1].tolist() == [0] * 3
    assert decisions.previous[decisions.step == 2].tolist() == [-1]


def test_a_walker_that_stays_keeps_its_edge():
    """Node 5 has no edge to itself."""
    decisions = continuations_of([[2, 5, 5, 5], [3, 4, 4]], ROADS).decisions
    there, loop = EDGES.index((2, 5)), len(EDGES)
    assert decisions.edge.tolist() == [there, there, there, EDGES.index((3, 4)), loop]
    assert decisions.previous.tolist() == [-1, there, there, -1, EDGES.index((3, 4))]


@pytest.mark.parametrize(
    "paths, fault", [([[0, 1], [0, 2]], (1, 0, 2)), ([[0, 1], [5, 5]], (1, 5, 5)), ([[0, 1, 2, 4]], (0, 2, 4))]
)
def test_a_step_that_there_is_not_is_found(paths, fault):
    assert continuations_of(paths, ROADS) == fault


@pytest.mark.parametrize(
    "content, words",
    [
        ("", "line 1: it has no node"),
        ("0,1\n\n1,2\n", "line 2: it has no node"),
        ("0,1\n0;1\n", "line 2: '0;1' is not a list of nodes"),
        ("0,-1\n", "line 1: '0,-1' is not a list of nodes"),
        ("0,1\n1,6\n", "line 2: node 6 is none of 0 to 5"),
        ("0,1\n0,1,3\n", "line 2: no edge leads from node 1 to node 3"),
        ("5,5\n", "line 1: no edge leads from node 5 to node 5"),
    ],
)
def test_a_file_with_a_fault_is_refused_with_its_line(tmp_path, content, words):
    path = tmp_path / "paths.txt"
    path.write_text(content)
    with pytest.raises(DataError) as caught:
        read_continuations(path, ROADS)
    assert words in caught.value.message and "paths.txt" in caught.value.message


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(DataError, match="nowhere"):
        read_continuations(tmp_path / "nowhere.txt", ROADS)


def test_a_path_by_its_edges():
    decisions = decisions_along(np.array([4, 2, 6]))
    assert decisions.edge.tolist() == [4, 2, 6] and decisions.previous.tolist() == [-1, 4, 2]
    assert decisions.step.tolist() == [0, 1, 2] and decisions.path.tolist() == [0, 0, 0]
