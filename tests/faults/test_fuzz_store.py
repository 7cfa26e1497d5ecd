"""Fuzzers of what runs leave and reports read: result, checkpoint, log, claim, spec and failure, results.csv, pages."""

import contextlib
import io
import json
import shutil

import pytest
from fuzz import FORMS, TOKENS, damaged_bytes, damaged_json, damaged_text, fuzz
from hypothesis import strategies as st

from cli.main import run
from lipgnn.errors import DataError
from lipgnn.results.claims import Claim, Held

SMALL = ("--dataset", "planted", "--layers", "1", "--hidden", "2", "--heads", "1", "--epochs", "3", "--device", "cpu")
TRAIN = ("train", *SMALL, "--save-every", "1", "-q", "--json")


def commands(*several):
    """Run commands, each whatever came of the one before; a refusal is the DataError that the fuzzer counts."""
    codes = []
    for arguments in several:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            codes.append(run([str(argument) for argument in arguments]))
        assert "Internal error" not in err.getvalue(), err.getvalue()
        assert codes[-1] in (0, 2, 4), (codes[-1], err.getvalue())
    if any(codes):
        raise DataError("It was refused.")


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A store with one finished run."""
    folder = tmp_path_factory.mktemp("store") / "results"
    commands((*TRAIN, "--results", folder))
    return folder


@pytest.fixture
def store(finished, tmp_path, monkeypatch):
    """A copy of it in the working folder, and the folder of the run."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(finished, tmp_path / "results")
    (path,) = (tmp_path / "results" / "runs").iterdir()
    return path


def restored(finished, path):
    """Put the run's folder back as it was."""
    shutil.rmtree(path)
    shutil.copytree(finished / "runs" / path.name, path)


@FORMS
def test_result(request, examples, finished, store):
    whole = json.loads((store / "result.json").read_bytes())

    def meet(content):
        (store / "result.json").write_bytes(content)
        try:
            commands(("report",), ("sweep", *SMALL, "--dry-run"), TRAIN, ("report", "--html", "page.html"))
        finally:
            restored(finished, store)

    fuzz(request, "result.json", examples, damaged_json(whole), meet, slow=True)


@FORMS
@pytest.mark.parametrize("name", ["last.json", "log.jsonl", "last.safetensors", "best.safetensors"])
def test_what_a_run_goes_on_from(request, examples, finished, store, name):
    whole = (store / name).read_bytes()
    damage = {
        "last.json": lambda: damaged_json(json.loads(whole)),
        "log.jsonl": lambda: damaged_log(whole) | damaged_bytes(whole),
    }.get(name, lambda: damaged_bytes(whole))()

    def meet(content):
        (store / "result.json").unlink()
        (store / name).write_bytes(content)
        try:
            commands(TRAIN)
        finally:
            restored(finished, store)

    fuzz(request, name, examples, damage, meet, slow=True)


@st.composite
def damaged_log(draw, content):
    lines = content.splitlines()
    place = draw(st.integers(0, len(lines) - 1))
    lines[place] = draw(damaged_json(json.loads(lines[place]))).replace(b"\n", b" ")
    return b"\n".join(lines) + b"\n"


@FORMS
@pytest.mark.parametrize("name", ["best.safetensors", "spec.json", "log.jsonl", "failure.json"])
def test_what_commands_read_of_a_run(request, examples, finished, store, name):
    failure = {"schema": 1, "reason": "x", "epoch": 1, "peak_memory_mb": 1.0}
    whole = json.dumps(failure).encode() if name == "failure.json" else (store / name).read_bytes()
    damage = damaged_json(json.loads(whole)) if name.endswith(".json") else damaged_bytes(whole)
    reading = ("evaluate", store.name, "--json") if name == "best.safetensors" else ("report", "--html", "page.html")

    def meet(content):
        place = store
        if name == "failure.json":
            # Beside a run that is done, one that has nothing but its specification.
            place = store.with_name("0" * 12)
            place.mkdir()
            shutil.copy(store / "spec.json", place)
        (place / name).write_bytes(content)
        try:
            commands(reading, ("sweep", *SMALL, "--dry-run"))
        finally:
            shutil.rmtree(place)
            store.mkdir(exist_ok=True)
            restored(finished, store)

    fuzz(request, f"{name}, as others read it", examples, damage, meet, slow=True)


@FORMS
def test_claim(request, examples, store):
    """A claim may be somebody's; what it says is no reason to fail in another way."""

    def claim():
        return Claim(store / "claim", "The run", beat_seconds=0.01, expiry_seconds=0.02)

    with claim():
        whole = json.loads((store / "claim").read_bytes())

    def meet(content):
        (store / "claim").write_bytes(content)
        try:
            with claim():
                pass
        except Held as error:
            raise DataError(error.message) from error
        finally:
            (store / "claim").unlink(missing_ok=True)

    fuzz(request, "claim", examples, damaged_json(whole), meet)


@FORMS
def test_results_csv(request, examples, store, tmp_path):
    text = (store.parents[1] / "results.csv").read_text()
    table = tmp_path / "t.csv"

    def meet(content):
        table.write_bytes(content)
        commands(("report", table, "--rows", "norm", "--cols", "layers", "--format", "csv"))

    fuzz(request, "results.csv", examples, damaged_text(text, ",\n"), meet)


PAGE = """# Page
<!-- report: lipgnn report results --rows norm --cols layers --format markdown -->
old
<!-- end -->
"""
WORDS = ("-o", "-ox.csv", "--html", "--update", "page.md", "--rows", "--where", "lr=1", "results", "--json", "--help")


@FORMS
def test_pages(request, examples, store, tmp_path):
    page = tmp_path / "page.md"
    words = st.lists(st.sampled_from(WORDS + TOKENS) | st.text(max_size=5), max_size=4).map(" ".join)
    asked = words.map(lambda text: PAGE.replace("--format", f"{text} --format").encode(errors="surrogatepass"))
    there = {path.name for path in tmp_path.iterdir()} | {page.name}

    def meet(content):
        page.write_bytes(content)
        commands(("report", "--update", page))

    fuzz(request, "pages", examples, asked | damaged_text(PAGE, " \n"), meet)
    # Whatever a page says, nothing is written but the page.
    assert {path.name for path in tmp_path.iterdir()} <= there
