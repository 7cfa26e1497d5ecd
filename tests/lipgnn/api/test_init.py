"""The interface as a whole: names, types, examples, and rooms that can be called."""

import doctest
import importlib.util
import inspect
import pickle
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import lipgnn
from lipgnn import api

MODULES = sorted(path.stem for path in Path(api.__file__).parent.glob("*.py") if path.stem != "__init__")


def test_the_package_has_every_name_of_the_interface():
    assert set(lipgnn.__all__) == {*api.__all__, "__version__"}
    assert set(api.__all__) <= set(dir(lipgnn))
    for name in api.__all__:
        assert callable(getattr(lipgnn, name))
    with pytest.raises(AttributeError, match="no attribute 'tarin'"):
        _ = lipgnn.tarin


ROOM, VERB = "import lipgnn.report.request", "assert callable(lipgnn.report)"


@pytest.mark.parametrize("first, then", [(ROOM, VERB), (VERB, ROOM)], ids=["room first", "verb first"])
def test_rooms_can_be_called_whichever_is_imported_first(first, then):
    """Python makes a room an attribute of the package; it is the verb as well."""
    code = f"""
import lipgnn, inspect
{first}
{then}
from lipgnn.api import report
from lipgnn.report.request import ReportRequest
import lipgnn.report.view.formats as formats
assert formats.latex and lipgnn.report.request.ReportRequest is ReportRequest
assert inspect.signature(lipgnn.report) == inspect.signature(report)
from lipgnn import diagnose, sweep
assert callable(diagnose) and callable(sweep)
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_other_processes_are_handed_the_package_and_its_rooms_by_name():
    """As by cloudpickle, which Ray, Dask and joblib use for functions of a notebook."""
    for module in (lipgnn, lipgnn.report, lipgnn.evaluate):
        assert pickle.loads(pickle.dumps(module)) is module


def test_a_room_that_is_no_verb_cannot_be_called():
    import lipgnn.spec

    assert not callable(lipgnn.spec)


@pytest.mark.parametrize("name", api.__all__)
def test_every_name_says_what_it_takes_and_shows_how(name):
    """Parameters or attributes of everything; errors and an example of every verb."""
    found = getattr(api, name)
    text = inspect.getdoc(found)
    assert "Parameters\n---" in text or "Attributes\n---" in text
    if inspect.isfunction(found):
        assert "Examples\n---" in text and ("Raises\n---" in text or "as in `" in text)
        annotated = inspect.signature(found)
        assert all(one.annotation is not one.empty for one in annotated.parameters.values()), name


@pytest.mark.parametrize("module", MODULES)
def test_the_examples_are_true(module):
    found = doctest.DocTestFinder().find(importlib.import_module(f"lipgnn.api.{module}"))
    if not importlib.util.find_spec("torch_geometric"):
        found = [test for test in found if "torch_geometric" not in test.docstring]
    runner = doctest.DocTestRunner()
    with warnings.catch_warnings():
        # Of other libraries, when they are imported.
        warnings.simplefilter("ignore", DeprecationWarning)
        for test in found:
            runner.run(test)
    assert runner.failures == 0
    assert runner.tries or module == "display"


def test_types_are_for_others_too():
    assert (Path(lipgnn.__file__).parent / "py.typed").exists()
