"""What every test can use: the dense references, as the fixture `reference`."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="session")
def reference() -> ModuleType:
    """The module references.py beside this file, loaded on first use because it imports torch."""
    spec = importlib.util.spec_from_file_location("references", Path(__file__).with_name("references.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
