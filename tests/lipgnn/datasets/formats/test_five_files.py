"""Gretel's five files against a slow reader, and every way to get them wrong."""

import numpy as np
import pytest
from five_files import change_line, write_five_files

from lipgnn.datasets.formats.five_files import FiveFiles, read_five_files
from lipgnn.errors import DataError


def rows(path, header=True):
    return [line.split("\t") for line in path.read_text().splitlines()][1 if header else 0 :]


def check_by_hand(data, folder, edges="edges.txt"):
    """Line by line, with Python's own numbers."""
    nodes, links = rows(folder / "nodes.txt"), rows(folder / edges)
    assert (data.num_nodes, data.given_edges) == (len(nodes), len(links))
    assert list(zip(data.sources.tolist(), data.targets.tolist(), strict=True))[: len(links)] == [
        (int(row[1]), int(row[2])) for row in links
    ]
    dead = sorted(set(range(len(nodes))) - {int(row[1]) for row in links})
    assert data.sources[len(links) :].tolist() == data.targets[len(links) :].tolist() == dead
    observations = iter(rows(folder / "observations.txt"))
    legs = iter(rows(folder / "paths.txt"))
    for trajectory, (_, length) in enumerate(rows(folder / "lengths.txt", header=False)):
        first, last = data.first_observation[trajectory : trajectory + 2]
        assert last - first == int(length)
        for place in range(first, last):
            row = next(observations)
            assert data.observed_nodes[place].tolist() == [int(cell) for cell in row[::2]]
            weights = np.array([float(cell) for cell in row[1::2]])
            assert data.observed_weights[place] == pytest.approx(weights / weights.sum(), abs=1e-12)
            taken = data.leg_edges[data.first_leg_edge[place] : data.first_leg_edge[place + 1]]
            assert taken.tolist() == ([int(cell) for cell in next(legs)] if place < last - 1 else [])
    assert next(observations, None) is None and next(legs, None) is None


@pytest.fixture
def folder(tmp_path):
    return write_five_files(tmp_path / "mine")


def test_a_small_folder(folder):
    data = read_five_files(folder)
    check_by_hand(data, folder)
    assert (data.name, data.shape, data.coordinates) == ("mine", (1, 2), None)
    assert (data.edge_features[:-1, 1] == 0).all(), "a column of −1 says nothing"
    assert data.node_features[:, 0].tolist() == pytest.approx((np.arange(8) ** 2 - 17.5) / np.std(np.arange(8) ** 2))
    assert [int(mask.sum()) for mask in data.split.parts.values()] == [7, 1, 2]


def test_line_ends_of_windows_and_a_mark_of_bytes_change_nothing(folder):
    first = read_five_files(folder)
    for path in folder.iterdir():
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    assert read_five_files(folder).fingerprint == first.fingerprint


def test_edges_without_features_may_have_a_file_of_their_own(folder):
    lines = [line.split("\t") for line in (folder / "edges.txt").read_text().splitlines()]
    (folder / "edges.txt").unlink()
    assert FiveFiles().recognizes(folder), "a damaged folder is still one"
    with pytest.raises(DataError, match=r"edges\.txt"):
        read_five_files(folder)
    text = "\n".join("\t".join(cells[:3]) for cells in [[lines[0][0], "0"], *lines[1:]])
    (folder / "edges_only.txt").write_text(text)
    assert FiveFiles().recognizes(folder)
    assert read_five_files(folder).shape == (1, 0)


@pytest.mark.parametrize(
    "first, second, placed",
    [("6.6", "46.5", True), ("-180", "90", True), ("0.5", "0.25", False), ("181", "0", False), ("0", "-91", False)],
)
def test_degrees_are_coordinates_and_not_features(folder, first, second, placed):
    lines = [f"{node}\t{first if node else '0.5'}\t{second if node else '0.5'}" for node in range(8)]
    (folder / "nodes.txt").write_text("\n".join(["8\t2", *lines]))
    data = read_five_files(folder)
    if placed:
        assert data.shape[0] == 0 and data.coordinates[3].tolist() == [float(first), float(second)]
    else:
        assert data.shape[0] == 2 and data.coordinates is None


FAULTS = {
    # file, line, its new text, what is said
    "too few nodes": ("nodes", 9, None, 1, "8 lines are announced, and 7 follow"),
    "too many edges announced": ("edges", 1, "9\t2", 1, "9 lines are announced, and 8 follow"),
    "too few legs": ("paths", 31, None, 1, "30 lines are announced, and 29 follow"),
    "too few observations": ("observations", 41, None, 1, "40 lines are announced, and 39 follow"),
    "no header": ("nodes", 1, "8", 1, "'8' is not two whole numbers"),
    "a negative header": ("nodes", 1, "-8\t1", 1, "'-8\\t1' is not two whole numbers"),
    "a node twice": ("nodes", 4, "1\t4", 4, "id 1 stands where 2 is due"),
    "an edge out of order": ("edges", 2, "1\t1\t2\t5\t5", 2, "id 1 stands where 0 is due"),
    "an edge from nowhere": ("edges", 3, "1\t8\t2\t5\t5", 3, "node 8 is none of 0 to 7"),
    "an edge to nowhere": ("edges", 3, "1\t1\t-2\t5\t5", 3, "node -2 is none of 0 to 7"),
    "an edge with too few cells": ("edges", 5, "3\t3\t4\t5", 5, "it has 4 cells in place of 5"),
    "an edge with too many cells": ("edges", 5, "3\t3\t4\t5\t5\t", 5, "it has 6 cells in place of 5"),
    "a line of blanks": ("edges", 5, "3 3 4 5 5", 5, "'3 3 4 5 5' is not a number"),
    "an empty line": ("nodes", 5, "", 5, "it has 0 cells in place of 2"),
    "a feature that is text": ("nodes", 6, "4\tfast", 6, "'fast' is not a number"),
    "a feature that is not a number": ("nodes", 6, "4\tnan", 6, "'nan' is not a number"),
    "a feature that is half a number": ("nodes", 6, "4\t1-2", 6, "'1-2' is not a number"),
    "an infinite feature": ("edges", 6, "4\t4\t5\t1e999\t5", 6, "1e999 is too large a number"),
    "digits of another script": ("nodes", 6, "4\t٣", 6, "'٣' is not a number"),
    "an id that is not whole": ("nodes", 6, "4.0\t16", 6, "'4.0' is not a whole number"),
    "an id that is too long": ("edges", 6, f"{10**30}\t4\t5\t5\t5", 6, "is not a whole number"),
    "a length of zero": ("lengths", 3, "102\t0", 3, "a trajectory has no observation"),
    "a length that is text": ("lengths", 3, "102\tx", 3, "'x' is not a number"),
    "a trajectory twice": ("lengths", 3, "101\t4", 3, "trajectory 101 is there more than once"),
    "a length too large": ("lengths", 10, "109\t5", 10, "41 lines of observations.txt are announced, and it has 40"),
    "a length too small": ("lengths", 10, "109\t3", 10, "39 lines of observations.txt are announced, and it has 40"),
    "a length that is huge": ("lengths", 3, f"102\t{2**62}", 3, "a trajectory is longer than observations.txt"),
    "no edges, of many features": ("edges", 1, f"0\t{10**14}", 1, "0 lines are announced, and 8 follow"),
    "a header of many digits": ("edges", 1, "8\t" + "1" * 5000, 1, "is not two whole numbers"),
    "an observation of nowhere": ("observations", 7, "8\t.5\t0\t.5", 7, "node 8 is none of 0 to 7"),
    "weights that sum to less": ("observations", 7, "0\t.5\t1\t.25", 7, "its weights sum to 0.75 and not to 1"),
    "weights that sum to more": ("observations", 7, "0\t.5\t1\t.502", 7, "its weights sum to 1.002 and not to 1"),
    "a negative weight": ("observations", 7, "0\t1.5\t1\t-.5", 7, "a weight is negative"),
    "an observation of one node twice": ("observations", 7, "3\t.5\t3\t.5", 7, "it has a node twice"),
    "an observation with half a pair": ("observations", 7, "3\t.5\t4", 7, "it has 3 cells in place of 4"),
    "an observation of no node": ("observations", 1, "40\t0", 1, "an observation has no node"),
    "an unknown edge": ("paths", 4, "2\t8", 4, "edge 8 is none of 0 to 7"),
    "a negative edge": ("paths", 4, "2\t-1", 4, "edge -1 is none of 0 to 7"),
    "an edge that is half a number": ("paths", 4, "2\t1.5", 4, "'1.5' is not a whole number"),
    "an empty leg": ("paths", 4, "", 4, "a leg has no edge"),
    "an empty leg in the end": ("paths", 31, "", 31, "a leg has no edge"),
    "a torn leg": ("paths", 4, "2\t4", 4, "edge 2 ends in node 3, and edge 4 begins in node 4"),
    "a leg that does not meet the one before": ("paths", 4, "4\t5", 4, "begins neither where the leg"),
    "a longest leg that is none": ("paths", 1, "30\t3", 1, "up to 3 edges are announced, and the longest has 2"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_named_with_its_file_and_line(folder, fault):
    file, line, text, told, reason = FAULTS[fault]
    change_line(folder, file, line, text)
    with pytest.raises(DataError) as caught:
        read_five_files(folder)
    assert str(folder / f"{file}.txt") in caught.value.message
    assert f": line {told}: " in caught.value.message
    assert reason in caught.value.message


@pytest.mark.parametrize("file", ["nodes", "edges", "lengths", "observations", "paths"])
def test_a_file_that_is_missing_or_empty_or_binary_is_named(folder, file):
    path = folder / f"{file}.txt"
    content = path.read_bytes()
    for damage, reason in ((b"", "line 1"), (content[:10] + b"\xff" + content[10:], "no UTF-8 text")):
        path.write_bytes(damage)
        with pytest.raises(DataError, match=reason) as caught:
            read_five_files(folder)
        assert str(path) in caught.value.message
    path.unlink()
    with pytest.raises(DataError, match=f"{file}.txt.*No such file"):
        read_five_files(folder)


@pytest.mark.parametrize("file", ["nodes", "edges", "observations", "paths"])
def test_a_file_of_a_header_alone_is_refused_whatever_it_announces(folder, file):
    (folder / f"{file}.txt").write_text(f"0\t{10**14}\n")
    with pytest.raises(DataError, match=f"{file}.txt': line 1: it has no lines below its header"):
        read_five_files(folder)


def test_a_byte_that_changed_is_read_or_refused(folder):
    """Never anything else, however little is right."""
    draw, files = np.random.RandomState(0), sorted(folder.iterdir())
    refused = 0
    for turn in range(200):
        path = files[turn % len(files)]
        content = bytearray(path.read_bytes())
        whole = bytes(content)
        content[draw.randint(len(content))] = b"0123456789-.e\t\n\r \xff"[draw.randint(18)]
        path.write_bytes(content)
        try:
            read_five_files(folder)
        except DataError as error:
            refused += path.name in error.message or "lengths.txt" in error.message or "paths.txt" in error.message
        path.write_bytes(whole)
    assert refused > 100


def test_padding_may_repeat_a_node(folder):
    change_line(folder, "observations", 7, "3\t1\t3\t0")
    assert read_five_files(folder).observed_weights[5].tolist() == [1, 0]


def test_weights_are_right_to_a_thousandth_and_sum_to_one_afterwards(folder):
    change_line(folder, "observations", 7, "3\t.5\t4\t.4995")
    assert read_five_files(folder).observed_weights[5].sum() == pytest.approx(1, abs=1e-15)


def test_a_trajectory_of_one_observation_has_no_leg(folder):
    change_line(folder, "lengths", 10, "109\t4\n110\t1")
    change_line(folder, "observations", 41, lambda line: f"{line}\n{line}")
    change_line(folder, "observations", 1, "41\t2")
    data = read_five_files(folder)
    check_by_hand(data, folder)
    assert data.lengths.tolist() == [4] * 10 + [1]


def test_a_leg_may_begin_with_any_edge_of_the_leg_before(folder):
    """As two legs of GeoLife do; the first leg of a trajectory may begin anywhere."""
    change_line(folder, "paths", 4, "1\t2")
    assert read_five_files(folder).leg_edges[:5].tolist() == [0, 1, 2, 1, 2]


def test_nine_trajectories_are_too_few(folder):
    parts = (("lengths", [10], None), ("observations", range(41, 37, -1), 36), ("paths", [31, 30, 29], 27))
    for file, last, header in parts:
        for line in last:
            change_line(folder, file, line, None)
        if header:
            change_line(folder, file, 1, f"{header}\t2")
    with pytest.raises(DataError, match=r"lengths.txt.*line 9: there are 9 trajectories, too few"):
        read_five_files(folder)


@pytest.mark.parametrize("place, name", [("gps/geolife", None), ("mine", "geolife")])
def test_geolife_by_name_or_folder_may_have_weights_that_sum_to_less(tmp_path, place, name):
    folder = write_five_files(tmp_path / place, rounds=2)
    change_line(folder, "observations", 7, "3\t.2\t4\t.05")
    assert read_five_files(folder, name=name).observed_weights[5] == pytest.approx([0.8, 0.2])
    change_line(folder, "observations", 7, "3\t.2\t4\t.9")
    with pytest.raises(DataError, match=r"sum to 1\.1 and"):
        read_five_files(folder, name=name)
    change_line(folder, "observations", 7, "3\t0\t4\t0")
    with pytest.raises(DataError, match="sum to 0 and"):
        read_five_files(folder, name=name)


def test_trajectories_of_a_known_data_set_have_the_lengths_that_count(tmp_path):
    folder = write_five_files(tmp_path / "gps" / "laussane")
    with pytest.raises(DataError, match="there are 0 trajectories of 6 to 40 observations, too few"):
        read_five_files(folder)


@pytest.mark.parametrize(
    "folder, edges, counts",
    [
        # nodes, edges, dead ends, trajectories, observations; train and validation together, test
        ("gps/laussane", "edges.txt", (18170, 32490, 11, 229, 2088, 183, 45)),
        ("gps/geolife", "edges.txt", (32442, 53050, 75, 181, 2855, 144, 36)),
        ("wikispeedia/gretel", "edges_only.txt", (4604, 119882, 17, 51312, 305210, 22408, 5602)),
    ],
)
def test_published_folders(raw_data, folder, edges, counts):
    data = read_five_files(raw_data / folder)
    split = data.split
    assert counts == (
        *(data.num_nodes, data.given_edges, len(data.sources) - data.given_edges),
        *(len(data.lengths), len(data.observed_nodes), (split.train | split.val).sum(), split.test.sum()),
    )
    assert (data.coordinates is None) == (folder == "wikispeedia/gretel")
    if folder != "wikispeedia/gretel":
        check_by_hand(data, raw_data / folder, edges)


def test_lausanne_has_legs_of_thirteen_edges(raw_data):
    data = read_five_files(raw_data / "gps" / "laussane")
    legs = np.diff(data.first_leg_edge)
    assert legs[legs > 0].mean() == pytest.approx(13.2, abs=0.05) and legs.max() == 41
