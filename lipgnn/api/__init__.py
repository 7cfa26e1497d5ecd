"""The Python interface: the verbs of the command line, with the same options, store, resume and run ids.

Everything here is also found in `lipgnn` itself: `lipgnn.train(…)`. Wrong use raises a `lipgnn.errors.LipgnnError`: its
message says what was wrong, and its note what to do. Importing this package does not import torch.
"""

from lipgnn.api.arrays import from_arrays, from_scipy
from lipgnn.api.diagnosing import Diagnosis, diagnose
from lipgnn.api.evaluating import Evaluation, evaluate
from lipgnn.api.libraries import from_dgl, from_networkx, from_pyg
from lipgnn.api.model import Model, load, predict
from lipgnn.api.places import save
from lipgnn.api.reporting import Table, report
from lipgnn.api.run import Run
from lipgnn.api.sweeping import Sweep, sweep
from lipgnn.api.training import train

__all__ = [
    "Diagnosis",
    "Evaluation",
    "Model",
    "Run",
    "Sweep",
    "Table",
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
