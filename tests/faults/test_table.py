"""The page of faults: all rows, each with tests that are there."""

import ast
import re
import subprocess
import sys

import pytest

from lipgnn.guide import read

ROWS = range(1, 48)


@pytest.fixture(scope="module")
def page():
    return read("faults").text


def shown_by(page):
    """For every row of the list the tests that it names: {1: [("tests/a.py", "test_b"), …], …}."""
    listed = page.partition("## The tests of each row\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^(\d+)\. (.*)$", listed, flags=re.MULTILINE)
    assert len(rows) == len(dict(rows))
    return {int(number): re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", text) for number, text in rows}


def test_every_row_has_its_fault_and_promise(page):
    rows = re.findall(r"^\| (\d+) \| (.+) \| (.+) \|$", page, flags=re.MULTILINE)
    assert [int(number) for number, _, _ in rows] == list(ROWS)


def test_every_row_names_its_tests(page):
    shown = shown_by(page)
    assert list(shown) == list(ROWS) and all(shown.values())


def test_every_test_that_is_named_is_there(page, root):
    for number, tests in shown_by(page).items():
        for file, name in tests:
            assert (root / file).is_file(), f"row {number}: {file}"
            defined = {node.name for node in ast.parse((root / file).read_text()).body if hasattr(node, "name")}
            assert name in defined, f"row {number}: {file} has no {name}"


@pytest.mark.parametrize("words, forms", [([], {"short"}), (["-m", "real"], set()), (["-m", "campaign"], {"long"})])
def test_the_long_form_of_the_campaign_runs_only_where_it_is_asked_for(words, forms, root):
    command = [sys.executable, "-m", "pytest", "-n", "0", "--co", "-q", *words, "tests/faults/test_campaign.py"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    assert done.returncode in (0, 5), done.stdout
    assert set(re.findall(r"(short|long)\]$", done.stdout, flags=re.MULTILINE)) == forms
