"""What is built from the tree works outside of it, and README's commands are the ones that are checked."""

import configparser
import importlib.machinery
import os
import re
import shutil
import site
import subprocess
import sys
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


@pytest.fixture(scope="module")
def outside(tmp_path_factory):
    """An environment of its own with the wheel in it; only the dependencies are borrowed from this one."""
    base = tmp_path_factory.mktemp("outside")
    tree = base / "tree"
    tree.mkdir()
    for name in ("setup.cfg", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree)
    for name in ("lipgnn", "cli", "data"):
        shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
    build = [*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", str(base), str(tree)]
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


def test_the_wheel_holds_the_packages_and_the_data_and_nothing_else(outside):
    import zipfile

    _, wheel = outside
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    modules = {str(path.relative_to(ROOT)) for top in ("lipgnn", "cli") for path in (ROOT / top).rglob("*.py")}
    data = {f"lipgnn/data/{name}.npz" for name in ("cora", "citeseer", "digits", "pubmed")}
    data |= {f"lipgnn/spec/studies/{path.name}" for path in (ROOT / "lipgnn" / "spec" / "studies").iterdir()}
    data |= {f"lipgnn/guide/{path.name}" for path in (ROOT / "lipgnn" / "guide").glob("*.md")}
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
