"""The command: from a folder of trajectories to ends, samples, likelihoods and a map."""

import csv
import io
import itertools
import json
import math
from collections import Counter

import pytest
from five_files import change_line, write_five_files

TRAIN = ("--model", "diffusion", "--layers", 2, "--observed", 2, "--epochs", 2, "--json", "-q")
# Beside the ring and the way to the dead end: two ways back and a second edge from 0 to 1.
FURTHER = ((1, 0), (2, 1), (0, 1))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Roads with more than one way to go, and the pairs of nodes that an edge joins; a dead end is joined to itself."""
    folder = write_five_files(tmp_path_factory.mktemp("data") / "roads")
    change_line(folder, "edges", 1, f"{8 + len(FURTHER)}\t2")
    with (folder / "edges.txt").open("a") as file:
        file.writelines(f"{8 + place}\t{a}\t{b}\t{20 + place}\t3\n" for place, (a, b) in enumerate(FURTHER))
    return folder


@pytest.fixture(scope="module")
def run(folder, tmp_path_factory):
    """A trained run, by its folder."""
    from cli.main import run

    results = tmp_path_factory.mktemp("results")
    assert run(["train", "--dataset", str(folder), *map(str, TRAIN), "--results", str(results)]) == 0
    (path,) = (results / "runs").iterdir()
    return path


@pytest.fixture
def ask(invoke, run):
    """ask("--steps", 2, …) -> (exit code, stdout, stderr), with the first trajectory as the prefix."""
    return lambda *words, prefix="trajectory:0": invoke("extrapolate", run, "--prefix", prefix, *words)


def sequences(start, steps):
    """Every sequence of nodes of so many steps that starts at a node, along edges."""
    ways = {*((node, (node + 1) % 7) for node in range(7)), (0, 7), (7, 7), *FURTHER}
    paths = [(start,)]
    for _ in range(steps):
        paths = [(*path, head) for path in paths for tail, head in sorted(ways) if tail == path[-1]]
    return paths


@pytest.mark.parametrize("steps", [1, 3])
def test_likelihoods_of_all_continuations_sum_to_one_and_make_the_ends(ask, tmp_path, steps):
    """The walk does not turn back: what does has the likelihood 0."""
    starts = {1: 0.75, 2: 0.25}  # the second observation
    asked = [path for start in starts for path in sequences(start, steps)]
    (tmp_path / "paths.txt").write_text("".join(",".join(map(str, path)) + "\n" for path in asked))
    code, out, _ = ask("--steps", steps, "--likelihood", "paths.txt", "--json", "--top", 8)
    found = json.loads(out)
    assert code == 0
    assert [tuple(one["nodes"]) for one in found["likelihoods"]] == asked
    ends = Counter()
    for start, weight in starts.items():
        of_start = [one for one in found["likelihoods"] if one["nodes"][0] == start]
        assert sum(one["probability"] for one in of_start) == pytest.approx(1, abs=1e-12)
        for one in of_start:
            assert one["start_probability"] == weight
            turned = any(a == c for a, _, c in zip(one["nodes"], one["nodes"][1:], one["nodes"][2:], strict=False))
            assert (one["log_probability"] is None) == (turned and 7 not in one["nodes"])
            ends[one["nodes"][-1]] += weight * one["probability"]
    told = {end["node"]: end["probability"] for end in found["ends"]}
    assert told == pytest.approx({node: mass for node, mass in ends.items() if mass}, abs=1e-12)


def test_samples_have_the_frequencies_of_their_probabilities(ask):
    code, out, _ = ask("--steps", 3, "--samples", 4000, "--seed", 3, "--json")
    samples = json.loads(out)["samples"]
    assert code == 0 and len(samples) == 4000
    drawn = Counter((tuple(one["nodes"]), tuple(one["edges"])) for one in samples)
    for one in samples:
        share = one["start_probability"] * one["probability"]
        assert one["probability"] == pytest.approx(math.exp(one["log_probability"]))
        deviation = math.sqrt(4000 * share * (1 - share))
        assert abs(drawn[tuple(one["nodes"]), tuple(one["edges"])] - 4000 * share) <= 5 * deviation + 1


def test_the_same_seed_prints_the_same(ask):
    words = ("--steps", 3, "--samples", 30, "--json")
    assert ask(*words, "--seed", 1)[1] == ask(*words, "--seed", 1)[1] != ask(*words, "--seed", 2)[1]


def test_the_truth_of_a_trajectory_gives_the_steps(ask):
    code, out, err = ask()
    assert code == 0
    for words in ("true path", "true target", "2 steps, without turning back", "Most probable ends"):
        assert words in out
    found = json.loads(ask("--json")[1])
    assert found["steps"] == 2 and found["truth"]["edges"] == [1, 2] and found["truth"]["nodes"] == [1, 2, 3]
    assert "--figure" not in err, "these nodes have no places"


def test_csv_has_a_row_for_everything(ask, tmp_path):
    (tmp_path / "paths.txt").write_text("1\t2\n1\t0\t1\n")
    code, out, _ = ask("--samples", 3, "--likelihood", "paths.txt", "--csv", "--top", 2)
    rows = list(csv.DictReader(io.StringIO(out)))
    assert code == 0
    assert [row["kind"] for row in rows] == ["end"] * 2 + ["sample"] * 3 + ["likelihood"] * 2 + ["truth"]
    assert rows[5]["nodes"] == "1 2" and float(rows[5]["log_probability"]) < 0
    assert (rows[6]["probability"], rows[6]["log_probability"]) == ("0.0", "-inf")
    assert rows[7]["edges"] == "1 2"


def test_a_prefix_by_ids_and_by_file_is_the_same(ask, tmp_path):
    (tmp_path / "seen.txt").write_text("0\t1\n1\t1\n")
    by_ids, by_file = (json.loads(ask("--steps", 2, "--json", prefix=text)[1]) for text in ("0,1", "seen.txt"))
    assert by_ids["ends"] == by_file["ends"] and by_ids["truth"] is None


@pytest.mark.parametrize(
    "prefix, words, code, message",
    [
        ("0", ("--steps", 1), 2, "shown 2 observations"),
        ("0,8", ("--steps", 1), 2, "no node 8"),
        ("0,1", (), 2, "--steps 10"),
        ("0,1", ("--steps", -1), 2, "got -1"),
        ("0,1", ("--steps", 1, "--likelihood", "no.txt"), 4, "no.txt"),
        ("", ("--steps", 1), 2, "The prefix '' is no list of node ids"),
        ("no.txt", ("--steps", 1), 4, "neither a list of nodes nor a file"),
        ("0,1", ("--steps", 1, "--json", "--csv"), 2, "contradict"),
        ("0,1", ("--steps", 1, "--figure", "map"), 2, "--figure needs -o FILE"),
        ("0,1", ("--steps", 1, "--figure", "map", "-o", "map.gif"), 2, "--figure needs -o FILE"),
        ("0,1", ("--steps", 1, "-o", "map.png"), 2, "none is asked for"),
        ("0,1", ("--steps", 1, "--figure", "map", "-o", "map.png"), 4, "where its nodes lie"),
        ("0,1", ("--steps", 1, "--dataset", "planar"), 4, "has 0 and 1"),
        ("0,1", ("--steps", 1, "--dataset", "planted"), 4, "no trajectories"),
    ],
)
def test_wrong_words_are_refused_in_one_sentence(ask, tmp_path, prefix, words, code, message):
    got, out, err = ask(*words, prefix=prefix)
    assert (got, out) == (code, "") and message in err
    assert "Internal" not in err and list(tmp_path.glob("map*")) == []


def test_a_run_of_another_task_is_refused(invoke):
    small = ("--dataset", "planted", "--layers", 1, "--hidden", 2, "--heads", 1, "--epochs", 1)
    result = json.loads(invoke("train", *small, "--json", "-q")[1])
    code, _, err = invoke("extrapolate", result["run_id"], "--prefix", "1,2", "--steps", 1)
    assert code == 2 and "task is nodes" in err


def test_training_leads_to_it_and_it_to_the_map(invoke, tmp_path):
    """The commands that are worth typing next work."""
    import shlex

    shown = ("--dataset", "mesh:200", "--model", "diffusion", "--layers", 1, "--epochs", 1, "-q")
    _, _, err = invoke("train", *shown)
    (line,) = (line for line in err.splitlines() if "extrapolate" in line)
    code, out, err = invoke(*shlex.split(line)[1:])
    assert code == 0 and "Continuations drawn, 5 in all" in out
    (line,) = (line for line in err.splitlines() if "--figure" in line)
    assert invoke(*shlex.split(line)[1:])[0] == 0
    assert (tmp_path / "map.png").read_bytes().startswith(b"\x89PNG")


def test_pairs_are_as_the_folder_says(folder):
    """What `sequences` goes along is what the file has."""
    lines = [line.split("\t") for line in (folder / "edges.txt").read_text().splitlines()[1:]]
    pairs = {(int(a), int(b)) for _, a, b, *_ in lines}
    assert {pair for path in sequences(0, 7) for pair in itertools.pairwise(path)} == pairs | {(7, 7)}
