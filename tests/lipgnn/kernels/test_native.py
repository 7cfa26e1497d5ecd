"""The library is found where it was built, and its absence has a reason."""

from __future__ import annotations

import importlib.util
import pathlib

import pytest
import torch

from lipgnn.errors import DataError, UsageError
from lipgnn.kernels import native
from lipgnn.kernels.adjacency import Adjacency
from lipgnn.kernels.forms import form


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


@pytest.mark.parametrize(
    "wrong",
    [
        {"y": torch.ones(5)},
        {"y": torch.ones(4, dtype=torch.float64)},
        {"y": torch.ones(8)[::2]},
        {"result": torch.ones(4, device="meta")},
        {"size": 5},
    ],
    ids=["too many", "another type", "in pieces", "another device", "too few"],
)
def test_an_array_that_is_not_what_it_would_be_taken_for_is_refused(wrong):
    arrays = {"size": 4, "threads": 1, "scale": 1.0, "y": torch.ones(4), "result": torch.zeros(4)}
    native.call("residual_elu", "forward", torch.float32, **arrays)
    assert arrays["result"].tolist() == [1] * 4
    with pytest.raises(DataError, match=r"residual_elu needs (y|result) as [45] values of float32 in one piece on the"):
        native.call("residual_elu", "forward", torch.float32, **{**arrays, **wrong})


def test_an_array_without_its_size_is_refused():
    with pytest.raises(DataError, match="needs y as nan values"):
        native.call("residual_elu", "forward", torch.float32, y=torch.ones(4))


def test_a_type_that_is_not_computed_in_is_named():
    with pytest.raises(UsageError, match="float32 and float64, and got float16"):
        native.call("summary", "forward", torch.float16, size=0)


def test_more_heads_than_there_is_room_for_never_reach_the_library(reference):
    numbers = {"width": 1, "normalize": 0, "shift": 0, "graph": Adjacency.of(reference.small_graph())}
    for heads, fastest in ((native.MOST_HEADS + 1, 0), (3, 1)):
        with pytest.raises(UsageError, match=f"no room for {heads} heads"):
            native.call("additive", "forward", torch.float32, heads=heads, heads_fastest=fastest, **numbers)


def test_a_library_compiled_from_other_sources_is_a_reason(monkeypatch):
    """Structures of another size would be read beside themselves."""
    monkeypatch.setitem(native.FORMS, "summary", form({"values": "size"}, whole="size"))
    library, reason = native.library()
    assert library is None and "other sources" in reason


def test_who_made_the_processor_is_as_the_system_says():
    listed = pathlib.Path("/proc/cpuinfo")
    if not listed.exists() or "vendor_id" not in listed.read_text():
        pytest.skip("the system does not say who made the processor")
    assert native.made_by_intel() == ("GenuineIntel" in listed.read_text())
