"""The library is found where it was built, and its absence has a reason."""

from __future__ import annotations

import importlib.util

import pytest
import torch

from lipgnn.kernels import native


@pytest.fixture(autouse=True)
def forget():
    native.library.cache_clear()
    yield
    native.library.cache_clear()


def test_is_built_with_the_installation_of_this_project():
    assert native.library()[0] is not None, native.library()[1]


def test_without_a_compiler_there_is_a_reason(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert native.library() == (
        None,
        "the fused kernel was not compiled when lipgnn was installed (that takes a C++ compiler)",
    )


def test_an_old_processor_is_a_reason(monkeypatch):
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "DEFAULT")
    library, reason = native.library()
    assert library is None and "AVX2" in reason


def test_a_library_that_cannot_be_loaded_is_a_reason(monkeypatch, tmp_path):
    broken = tmp_path / "broken.so"
    broken.write_bytes(b"not a library")
    spec = importlib.util.spec_from_file_location("broken", broken.with_suffix(".py"))
    spec.origin = str(broken)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec)
    library, reason = native.library()
    assert library is None and "cannot be loaded" in reason


def test_a_misspelt_member_is_an_error_of_ours():
    """ctypes would take any attribute; a name that is none of the structure's must not vanish."""
    with pytest.raises(AttributeError):
        native.call("residual_elu", "forward", torch.float32, sizes=3)
