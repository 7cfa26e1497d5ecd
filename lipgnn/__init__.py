"""Very deep graph attention networks with LipschitzNorm, on DGL and PyTorch.

    import lipgnn

    run = lipgnn.train("cora", layers=30, norm="lip")   # the options, store and ids of the command line
    run.model.predict("cora").to_pandas()               # a row for every node
    lipgnn.diagnose(run).figure()                       # what depth does to it
    lipgnn.report(rows="norm", cols="layers").to_latex()

`lipgnn.api` documents each of these; `lipgnn guide python` shows them at work. Importing this package is cheap: torch
and DGL load with the first call that needs them.
"""

from __future__ import annotations

import importlib
import os
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lipgnn.api import (
        Diagnosis,
        Evaluation,
        Model,
        Run,
        Sweep,
        Table,
        diagnose,
        evaluate,
        from_arrays,
        from_dgl,
        from_networkx,
        from_pyg,
        from_scipy,
        load,
        predict,
        report,
        save,
        sweep,
        train,
    )

__version__ = "0.2.0"
__all__ = [
    "Diagnosis",
    "Evaluation",
    "Model",
    "Run",
    "Sweep",
    "Table",
    "__version__",
    "diagnose",
    "evaluate",
    "from_arrays",
    "from_dgl",
    "from_networkx",
    "from_pyg",
    "from_scipy",
    "load",
    "predict",
    "report",
    "save",
    "sweep",
    "train",
]

# Both must be set before torch or DGL is imported. Without the first, DGL prints on stdout and writes
# into the home directory; without the second, waiting threads spin and slow down a shared machine fourfold.
os.environ.setdefault("DGLBACKEND", "pytorch")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

# Verbs of the API that are the names of rooms, too. Python makes a room an attribute of the package when anything in it
# is first imported, so the room itself is what can be called.
_ROOMS = ("diagnose", "evaluate", "predict", "report", "sweep")


class _Module(ModuleType):
    """A module of a class of its own, which other processes still find by its name (cloudpickle knows plain ones)."""

    def __reduce__(self) -> Any:
        return importlib.import_module, (self.__name__,)


class _CallableRoom(_Module):
    """A room that can be called: `lipgnn.report(…)` is the verb, `lipgnn.report.request` a module of the room."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """See the function of this name in `lipgnn.api`."""
        return self._verb(*args, **kwargs)

    @property
    def _verb(self) -> Any:
        return getattr(importlib.import_module("lipgnn.api"), self.__name__.rpartition(".")[2])

    @property
    def __signature__(self) -> Any:
        import inspect

        return inspect.signature(self._verb)


class _Package(_Module):
    """This package, which makes some of its rooms callable when they are imported."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _ROOMS and isinstance(value, ModuleType):
            value.__class__ = _CallableRoom
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    """A name of the API, found when it is first asked for."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in _ROOMS:
        return importlib.import_module(f"{__name__}.{name}")
    return getattr(importlib.import_module("lipgnn.api"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
