"""README and the guide are short and true: tables are as printed, fences run, links lead somewhere."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lipgnn.guide import TOPICS
from lipgnn.spec.study import read_study, study_names

ROOT = Path(__file__).parent.parent
GUIDE = [f"lipgnn/guide/{topic}.md" for topic in TOPICS]
PAGES = ["README.md", *GUIDE, "data/README.md", "results/README.md", "results/studies/README.md"]
TEXTS = {page: (ROOT / page).read_text() for page in PAGES}


def fences(language):
    """Every fence of a language on any page, with the page's name."""
    pattern = re.compile(rf"^```{language}\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
    return [(page, fence) for page, text in TEXTS.items() for fence in pattern.findall(text)]


def plain_commands(fence):
    """The words of every command of a fence that is nothing but commands of the program; None of any other."""
    commands = []
    for line in fence.replace("\\\n", " ").splitlines():
        words = list(shlex.shlex(line, posix=True, punctuation_chars=True))
        if "$" in line or words[:1] != ["lipgnn"] or any(set(word) <= set("();<>|&") for word in words):
            return None
        commands.append(shlex.split(line)[1:])
    return commands


def unfenced(text):
    """A page without its fences."""
    return re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)


def anchors(text):
    """What links into a page may name: its headings, as GitHub spells them."""
    headings = re.findall(r"^#+ (.*)$", unfenced(text), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_readme_is_short():
    """As it is read: the commands that print its tables stand in comments."""
    assert len(re.sub(r"<!--.*?-->", "", TEXTS["README.md"], flags=re.DOTALL).split()) <= 900


def test_readme_leads_to_every_page_of_the_guide():
    for page in GUIDE:
        assert f"]({page})" in TEXTS["README.md"], page


def test_readme_tells_every_command():
    from cli.main import COMMANDS

    for command in COMMANDS:
        assert re.search(rf"(`|^)lipgnn {command}\b", TEXTS["README.md"], flags=re.MULTILINE), command


def test_readme_maps_every_room():
    for room in (ROOT / "lipgnn").glob("*/__init__.py"):
        assert f"`{room.parent.name}`" in TEXTS["README.md"], room.parent.name


@pytest.mark.parametrize("page", PAGES)
def test_the_links_of_a_page_lead_somewhere(page):
    folder = (ROOT / page).parent
    for link in re.findall(r"\]\(([^)\s]+)\)", unfenced(TEXTS[page])):
        if link.startswith(("http://", "https://")):
            continue
        path, _, anchor = link.partition("#")
        target = folder / path if path else ROOT / page
        assert target.exists(), link
        if anchor:
            assert anchor in anchors(target.read_text()), link


@pytest.mark.parametrize(
    "page", [page for page, text in TEXTS.items() if re.search(r"^<!-- report:", unfenced(text), flags=re.MULTILINE)]
)
def test_the_tables_of_a_page_are_as_printed(page, tmp_path, invoke):
    """Fix it by `lipgnn report --update PAGE` in the top folder."""
    shutil.copytree(ROOT / "results" / "studies", tmp_path / "results" / "studies")
    (tmp_path / page).parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / page, tmp_path / page)
    code, _, err = invoke("report", "--update", page)
    assert code == 0, err
    assert not err.startswith("0 table(s)")
    assert (tmp_path / page).read_text() == TEXTS[page]


@pytest.mark.parametrize("page, fence", fences("sh runnable"))
def test_a_runnable_fence_runs(page, fence, program, launcher, tmp_path):
    """By the shell where it takes one; commands alone are forked, which saves their imports."""
    for words in (plain := plain_commands(fence)) or ():
        child = launcher.run(tmp_path, *words)
        assert child.wait() == 0, f"{page}: {child.err.read_text()}"
    if plain:
        return
    environment = {**os.environ, "PATH": f"{Path(program[0]).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", fence], cwd=tmp_path, env=environment, capture_output=True)
    assert done.returncode == 0, f"{page}: {done.stderr.decode()}"


@pytest.mark.parametrize("page", sorted({page for page, _ in fences("python")}))
def test_the_library_examples_of_a_page_run_one_after_the_other(page, tmp_path):
    code = "".join(fence for each, fence in fences("python") if each == page)
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_guide_tells_every_study_of_two_scales():
    for name in study_names():
        assert None in read_study(name).parts or f"| `{name}` |" in TEXTS["lipgnn/guide/studies.md"], name


def test_the_guide_tells_every_column_of_a_result(result_row):
    from lipgnn.spec.run import FIELDS

    for column in result_row():
        assert column in FIELDS or f"`{column}`" in TEXTS["lipgnn/guide/results-and-files.md"], column


def test_the_guide_tells_every_figure():
    from lipgnn.report.figures import FIGURES

    for name in FIGURES:
        assert f"| `{name}` |" in TEXTS["lipgnn/guide/tables.md"], name


def test_the_guide_tells_every_exit_code():
    from cli.sweep import EXIT_FAILURES
    from lipgnn import errors

    names = ("RunFailed", "UsageError", "DataError", "EnvironmentBroken", "Interrupted")
    for code in (0, EXIT_FAILURES, *(getattr(errors, name).exit_code for name in names)):
        assert f"| {code} |" in TEXTS["lipgnn/guide/results-and-files.md"], code


def test_the_guide_tells_every_variable():
    from lipgnn.spec.sources import PATH_VARIABLES

    for variable in PATH_VARIABLES:
        assert f"| `{variable}` |" in TEXTS["lipgnn/guide/results-and-files.md"], variable
