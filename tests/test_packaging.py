"""What is built from the tree works outside of it, and README's commands are the ones that are checked."""

import ast
import configparser
import importlib.machinery
import json
import os
import re
import shutil
import site
import subprocess
import sys
import tarfile
import venv
from pathlib import Path

import pytest
from parts import PARTS

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()

SETUP_COMMANDS = [
    "python -m venv .venv && .venv/bin/pip install -e . && .venv/bin/lipgnn train --layers 30 --norm lip",
    'python -m venv .venv && .venv/bin/pip install -e ".[test]" && .venv/bin/pytest',
]


def checked_in():
    """The files of the project, as git knows them; of a source archive all that it holds."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode == 0:
        return {name for name in listed.stdout.splitlines() if (ROOT / name).exists()}
    ours = ("setup.cfg", "setup.py", "README.md", "LICENSE", "lipgnn", "cli", "data", "results", "tests", ".ci")
    files = [path for name in ours for path in (ROOT / name, *(ROOT / name).rglob("*")) if path.is_file()]
    return {str(path.relative_to(ROOT)) for path in files if path.suffix not in (".pyc", ".so")}


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    """The source archive of what is checked in."""
    base = tmp_path_factory.mktemp("archive")
    tree = base / "tree"
    for name in checked_in():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tree / name)
    # The kernel is compiled without optimization, in an eighth of the time: it is only packed here.
    (tree / "setup.py").write_text((ROOT / "setup.py").read_text().replace('"-O3"', '"-O0"'))
    code = "from setuptools import build_meta; build_meta.build_sdist('..')"
    subprocess.run([sys.executable, "-c", code], cwd=tree, check=True, capture_output=True)
    (found,) = base.glob("*.tar.gz")
    return found


@pytest.fixture(scope="module")
def outside(archive, tmp_path_factory):
    """An environment of its own with the wheel in it; only the dependencies are borrowed from this one."""
    base = tmp_path_factory.mktemp("outside")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
    build = [*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", str(base), str(archive)]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = base.glob("*.whl")
    venv.create(base / "env", with_pip=False)
    python = base / "env" / "bin" / "python"
    where = "import sysconfig; print(sysconfig.get_path('purelib'))"
    packages = Path(subprocess.run([python, "-c", where], capture_output=True, text=True, check=True).stdout.strip())
    # A path in a .pth file is searched for packages, but its own .pth files are not read: no editable install.
    (packages / "dependencies.pth").write_text("\n".join(site.getsitepackages()))
    install = [*pip, "--python", str(python), "install", "--no-deps", "--ignore-installed", str(wheel)]
    subprocess.run(install, check=True, capture_output=True)
    return base / "env" / "bin", wheel


def test_the_wheel_trains_on_cora_outside_the_checkout(outside, tmp_path):
    programs, _ = outside
    done = subprocess.run(
        [programs / "lipgnn", "train", "--layers", "2", "--epochs", "3", "--json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"},
    )
    assert done.returncode == 0, done.stderr
    origin = subprocess.run(
        [programs / "python", "-c", "import lipgnn; print(lipgnn.__file__)"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert str(programs.parent) in origin


def test_the_source_archive_holds_all_that_is_checked_in(archive):
    with tarfile.open(archive) as tar:
        names = {name.partition("/")[2] for name in tar.getnames()}
    assert checked_in() - names == set()


def test_the_wheel_has_the_rows_of_studies_and_their_recordings(outside, tmp_path):
    programs, _ = outside
    run = {"cwd": tmp_path, "capture_output": True, "text": True}
    kept = subprocess.run([programs / "lipgnn", "report", "--study", "missing", "--published", "--json"], **run)
    assert kept.returncode == 0, kept.stderr
    assert "The rows are those that ship with lipgnn." in kept.stderr
    ours = subprocess.run(
        [programs / "lipgnn", "report", "--study", "missing", "--published", "--json"], **{**run, "cwd": ROOT}
    )
    assert json.loads(kept.stdout) == json.loads(ours.stdout)
    # What this study shows is not in its rows, but in what its runs recorded.
    drawn = subprocess.run([programs / "lipgnn", "report", "--study", "gradients", "-o", "figure.svg"], **run)
    assert drawn.returncode == 0, drawn.stderr
    assert not (tmp_path / "results").exists()


def test_on_a_python_that_is_not_supported_one_sentence_says_what_to_do():
    code = "import runpy, sys, setuptools.command.sdist; sys.version_info = (3, 13, 1, 'final', 0); "
    code += "runpy.run_path('setup.py')"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1
    (sentence,) = done.stderr.splitlines()
    assert sentence.startswith("lipgnn needs Python 3.10, 3.11 or 3.12, and this is Python ")
    assert sentence.endswith("for example python3.12 -m venv .venv")
    # Pythons of long ago must come to that line: nothing that is younger than Python 3.6 stands in the file.
    ast.parse((ROOT / "setup.py").read_text(), feature_version=(3, 6))


def test_the_wheel_holds_the_packages_and_the_data_and_nothing_else(outside):
    import zipfile

    _, wheel = outside
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    modules = {str(path.relative_to(ROOT)) for top in ("lipgnn", "cli") for path in (ROOT / top).rglob("*.py")}
    data = {f"lipgnn/data/{name}.npz" for name in ("cora", "citeseer", "digits", "pubmed")}
    data |= {f"lipgnn/spec/studies/{path.name}" for path in (ROOT / "lipgnn" / "spec" / "studies").iterdir()}
    data |= {f"lipgnn/guide/{path.name}" for path in (ROOT / "lipgnn" / "guide").glob("*.md")}
    kept = ROOT / "results" / "studies"
    data |= {
        f"lipgnn/kept/{path.relative_to(kept)}" for path in kept.rglob("*") if path.suffix in (".csv", ".safetensors")
    }
    kernel = {f"lipgnn/kernels/_native{importlib.machinery.EXTENSION_SUFFIXES[0]}"}
    further = {"lipgnn/py.typed", "lipgnn/report/table/papers.csv", "lipgnn/report/view/page.html"}
    assert names == modules | data | kernel | further


def test_the_bounds_of_the_dependencies_are_those_that_were_tried():
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    requirements = config["options"]["install_requires"].split("\n")
    assert "torch>=2.2,<2.14" in requirements
    assert 'dgl>=1.1.1,!=2.0.*,!=2.1.*,!=2.2.*,<2.5; python_version < "3.12"' in requirements
    assert 'dgl==2.1.0; python_version >= "3.12"' in requirements
    assert config["options"]["python_requires"] == ">=3.10,<3.13"


def test_readme_opens_with_exactly_the_two_set_up_commands():
    assert re.findall(r"^python -m venv .*$", README, flags=re.MULTILINE) == SETUP_COMMANDS


def test_ci_takes_its_command_from_readme():
    script = (ROOT / ".ci" / "run").read_text()
    (pattern,) = re.findall(r"^command=\$\(grep -m1 -E '(.*)' README.md\)$", script, flags=re.MULTILINE)
    (line,) = (line for line in README.splitlines() if re.search(pattern, line))
    assert line == SETUP_COMMANDS[1]
    assert '"$command"' in script and "[test" not in script


def test_ci_runs_the_tests_of_every_part_and_installs_every_extra():
    script = (ROOT / ".ci" / "run").read_text()
    assert {part for parts in re.findall(r"must_have\+?=\((.*?)\)", script) for part in parts.split()} == set(PARTS)
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    (extras,) = re.findall(r"pip install .*\[(.*)\]", script)
    assert set(extras.split(",")) == set(config["options.extras_require"]) - {"test"}


@pytest.mark.parametrize("options, code, said", [([], 0, "3 skipped"), (["--must-have=tex"], 1, "3 errors")])
def test_without_a_part_its_tests_skip_and_where_it_must_be_there_they_fail(options, code, said):
    command = [sys.executable, "-m", "pytest", "-n", "0", "-m", "real", "tests/lipgnn/report/view/test_formats.py"]
    # This process may be one of several that run tests for another, and say so in its environment.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")} | {"PATH": ""}
    done = subprocess.run([*command, *options], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == code, done.stdout
    assert said in done.stdout and "neither pdflatex nor tectonic is installed" in done.stdout
