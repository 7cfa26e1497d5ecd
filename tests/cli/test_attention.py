"""What `evaluate` adds for images: rotations and the figure of attention."""

import json

import pytest

TRAIN = (
    "--dataset",
    "digits:4",
    "--split",
    "random:0:20:10",
    "--layers",
    1,
    "--hidden",
    2,
    "--heads",
    2,
    "--epochs",
    2,
)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A trained run, by its folder."""
    from cli.main import run

    results = tmp_path_factory.mktemp("results")
    assert run(["train", *map(str, TRAIN), "-q", "--json", "--results", str(results)]) == 0
    (path,) = (results / "runs").iterdir()
    return path


def test_rotations_are_tables(invoke, run):
    code, out, _ = invoke("evaluate", run, "--rotations", "--json")
    tables = json.loads(out)["tables"]
    assert code == 0
    scores = {row["image"]: row["score"] for row in tables["rotations"]["rows"]}
    assert len(scores) == 5 and len(set(list(scores.values())[:4])) == 1
    assert [row["layer"] for row in tables["equivariance"]["rows"]] == [1, "logits"]
    assert max(tables["equivariance"]["rows"][0][name] for name in scores if "degrees" in name) < 1e-5
    code, out, _ = invoke("evaluate", run, "--rotations")
    assert code == 0 and "Equivariance error by layer" in out and "270 degrees" in out
    assert "rotations" not in json.loads(invoke("evaluate", run, "--json")[1])["tables"]


def test_the_figure_is_written(invoke, run, tmp_path):
    for image in ((), ("--image", 3)):
        code, _, err = invoke("evaluate", run, "--figure", "attention", "-o", "look.svg", *image)
        text = (tmp_path / "look.svg").read_text()
        assert code == 0 and "look.svg" in err and f"test image {image[1] if image else 0}, class" in text


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--figure", "attention"), "--figure needs -o FILE"),
        (("--figure", "attention", "-o", "a.txt"), "--figure needs -o FILE"),
        (("-o", "a.png"), "none is asked for"),
        (("--image", 3), "none is asked for"),
        (("--figure", "attention", "-o", "a.png", "--image", 99999), "--image 99999 is no image of the test part"),
    ],
)
def test_wrong_wishes_are_refused(invoke, run, tmp_path, words, told):
    code, _, err = invoke("evaluate", run, *words)
    assert code == 2 and told in err
    assert not list(tmp_path.glob("a.*"))


def test_other_tasks_have_nothing_to_turn(invoke, tmp_path):
    invoke("train", "--dataset", "planted", "--layers", 1, "--epochs", 1, "-q", "--json")
    (path,) = (tmp_path / "results" / "runs").iterdir()
    code, _, err = invoke("evaluate", path, "--rotations")
    assert code == 2 and "--rotations is of images, and data set 'planted' has nodes." in err
    code, _, err = invoke("evaluate", path, "--figure", "attention", "-o", "a.png")
    assert code == 2 and "--figure attention is of images, and data set 'planted' has nodes." in err
