"""The one place that imports DGL: environment, device, seeds, and readable errors when they fail.

Nothing heavy is imported with this module; `from lipgnn.runtime import dgl` loads DGL (and torch) on first use.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
import os
import platform
import signal
import sys
import traceback
import weakref
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any

from lipgnn.errors import EnvironmentBroken, unknown_name
from lipgnn.words import counted

if TYPE_CHECKING:
    import torch

PACKAGES = ("torch", "dgl", "numpy", "scipy", "pandas", "ogb", "click", "rich", "safetensors")
DEVICES = ("auto", "cpu", "cuda")
# What asks a process to end and save what it has.
POLITE_SIGNALS = (signal.SIGINT, signal.SIGTERM)
SAFE_PATH = "import sys; sys.path[:1] = filter(None, sys.path[:1]); "
"""What `python -c` has to begin with: else a file of the working folder called torch.py would be taken for torch."""
REINSTALL_HINT = "Reinstall with `pip install -e .` in a fresh environment of Python 3.10, 3.11 or 3.12."


def __getattr__(name: str) -> ModuleType:
    """Give `dgl`, imported on first use, with one readable sentence where it cannot be."""
    if name == "dgl":
        return _import("dgl")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _import(name: str) -> ModuleType:
    try:
        try:
            return importlib.import_module(name)
        except Exception as error:
            if name != "dgl":
                raise
            return _dgl_without_graphbolt(error)
    # A native library that does not fit surfaces as OSError, FileNotFoundError or AttributeError.
    except Exception as error:
        raise EnvironmentBroken(
            f"Cannot import {name} {installed_version(name) or '(not installed)'} beside "
            f"torch {installed_version('torch') or '(not installed)'}: {error}.",
            REINSTALL_HINT,
        ) from error


def _dgl_without_graphbolt(error: Exception) -> ModuleType:
    """DGL 2.1 beside a torch that its GraphBolt was not built for: an empty module takes the place of GraphBolt.

    Nothing here uses GraphBolt, and DGL itself does not where it is not asked to.

    Parameters
    ----------
    error : why DGL does not load as it is; raised where GraphBolt is not to blame.
    """
    if not any("graphbolt" in frame.filename for frame in traceback.extract_tb(error.__traceback__)):
        raise error
    for name in [name for name in sys.modules if name.partition(".")[0] == "dgl"]:
        del sys.modules[name]
    sys.modules["dgl.graphbolt"] = ModuleType("dgl.graphbolt")
    return importlib.import_module("dgl")


def module_command(module: str, *arguments: str) -> list[str]:
    """The words that run a module in a process of its own, in which the working folder is not on the path.

    That is `python -P -m module`, which Python 3.10 does not have.
    """
    code = "import runpy; runpy.run_module(sys.argv.pop(1), run_name='__main__', alter_sys=True)"
    return [sys.executable, "-c", SAFE_PATH + code, module, *arguments]


def installed_version(package: str) -> str | None:
    """Version of an installed package, read without importing it."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def choose_device(requested: str) -> tuple[torch.device, str]:
    """The device for a request, and the reason for the choice.

    Parameters
    ----------
    requested : "auto", "cpu", "cuda" or "cuda:k".

    Raises
    ------
    EnvironmentBroken : CUDA was asked for and torch or DGL cannot use it. Never a silent CPU run.
    """
    torch = _import("torch")
    kind = requested.partition(":")[0]
    if kind not in DEVICES or (requested != kind and not requested.removeprefix("cuda:").isdigit()):
        raise unknown_name("device", requested, [*DEVICES, "cuda:0"])
    if requested == "cpu":
        return torch.device("cpu"), "asked for"
    obstacle = cuda_obstacle(0 if requested in ("auto", "cuda") else int(requested.removeprefix("cuda:")))
    if requested == "auto":
        if obstacle:
            return torch.device("cpu"), obstacle
        return torch.device("cuda", 0), f"{torch.cuda.get_device_name(0)} is available"
    if obstacle:
        raise EnvironmentBroken(
            f"Device {requested!r} was asked for, but {obstacle}.",
            "Use --device cpu, or install builds of torch and DGL with CUDA as `lipgnn guide gpu` says.",
        )
    index = int(requested.partition(":")[2] or 0)
    return torch.device("cuda", index), "asked for"


def cuda_obstacle(index: int = 0) -> str | None:
    """Why CUDA device `index` cannot be used, or None if it can."""
    torch = _import("torch")
    if not torch.backends.cuda.is_built():
        return "this torch is a build without CUDA"
    if not torch.cuda.is_available():
        return "torch finds no CUDA device"
    if index >= torch.cuda.device_count():
        return f"torch finds only {counted(torch.cuda.device_count(), 'CUDA device')}"
    dgl = _import("dgl")
    try:
        dgl.graph(([0], [0])).to(torch.device("cuda", index))
    except dgl.DGLError:
        return "this DGL is a build without CUDA"
    return None


def seed_all(seed: int) -> None:
    """Seed every generator a run draws from: torch on all devices, and DGL."""
    _import("torch").manual_seed(seed)
    _import("dgl").seed(seed)


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Let torch compute with a single thread for a while."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


MEMBERSHIP = "graph"
"""The node data that says which graph a node is of, where the nodes of a batch are not in the order of its graphs."""


EDGE_TYPE = "edge_type"
"""The edge data that says of which type every edge is, (E,) whole numbers from 0 on."""


def members_of(graph: Any) -> torch.Tensor | None:
    """The number of the graph of every node of a DGL graph, (N,), or None where all are of one.

    What is no whole graph, as the targets of a sample, counts as one.
    """
    if not isinstance(graph, _import("dgl").DGLGraph) or graph.is_block:
        return None
    if MEMBERSHIP in graph.ndata:
        return graph.ndata[MEMBERSHIP]
    torch = _import("torch")
    # DGL makes what says that there is one graph on first use, on the default device.
    with torch.device(graph.device):
        sizes = graph.batch_num_nodes()
    return None if len(sizes) == 1 else torch.arange(len(sizes), device=sizes.device).repeat_interleave(sizes)


class PerGraph:
    """A function of a graph that is computed once and kept as long as the graph lives.

    DGL's index is replaced, not changed, when edges are added or removed, and local copies of a graph share it.

    Parameters
    ----------
    make : called with a graph on first use.
    """

    def __init__(self, make: Callable[[Any], Any]):
        self._make = make
        # By the identity of DGL's index, which cannot be hashed.
        self._made: dict[int, Any] = {}

    def __call__(self, graph: Any) -> Any:
        index = graph._graph
        if id(index) not in self._made:
            self._made[id(index)] = self._make(graph)
            weakref.finalize(index, self._made.pop, id(index))
        return self._made[id(index)]


def describe_environment() -> dict[str, Any]:
    """Versions, devices, threads and what is wrong with them, as plain data.

    Returns
    -------
    a dictionary whose `problems` is a list of {"what", "fix"}; empty when all is well.
    """
    facts: dict[str, Any] = {
        "python": platform.python_version(),
        "executable": sys.executable,
        "platform": platform.platform(),
        "versions": {package: installed_version(package) for package in PACKAGES},
        "cores": os.cpu_count(),
        "dgl_fits_torch": False,
        "problems": [],
    }
    for package, version in facts["versions"].items():
        if version is None:
            facts["problems"].append({"what": f"{package} is not installed.", "fix": REINSTALL_HINT})
    try:
        torch, dgl = _import("torch"), _import("dgl")
        _try_message_passing(torch, dgl)
    except EnvironmentBroken as error:
        facts["problems"].append({"what": error.message, "fix": error.hint})
        return facts
    facts["dgl_fits_torch"] = True
    obstacle = cuda_obstacle()
    facts["threads"] = torch.get_num_threads()
    facts["cuda"] = {
        "torch_build": torch.version.cuda,
        "devices": [torch.cuda.get_device_name(k) for k in range(torch.cuda.device_count())],
        "usable": obstacle is None,
        "reason": obstacle or "torch and DGL both use it",
    }
    if facts["cuda"]["devices"] and obstacle:
        facts["problems"].append(
            {"what": f"A CUDA device is present, but {obstacle}.", "fix": "See `lipgnn guide gpu`."}
        )
    return facts


def _try_message_passing(torch: ModuleType, dgl: ModuleType) -> None:
    """Prove that DGL's native library and this torch work together, which an import alone does not."""
    try:
        graph = dgl.graph(([0, 1], [1, 1]))
        total = dgl.ops.copy_u_sum(graph, torch.ones(2, 1))
    except Exception as error:
        raise EnvironmentBroken(f"DGL cannot pass messages: {error}.", REINSTALL_HINT) from error
    if total.flatten().tolist() != [0, 2]:
        raise EnvironmentBroken(f"DGL adds wrongly: {total.flatten().tolist()} instead of [0, 2].", REINSTALL_HINT)
