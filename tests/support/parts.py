"""The parts that some tests need and a plain installation does not have, such as Ray or a browser.

Tests that need one carry the marker `real`, and skip where it is missing. `pytest -m real --must-have ray --must-have
tex` runs them alone, and fails where one of these two is missing.
"""

import shutil
from importlib.util import find_spec


def _both(names):
    """Whether several modules can be found."""
    return all(map(find_spec, names.split()))


# Every part: how it is looked for, the names of which one must be found, and what is said where none is.
PARTS = {
    "ray": (find_spec, ("ray",), 'Ray is not installed: pip install "lipgnn[ray]"'),
    "submitit": (find_spec, ("submitit",), 'submitit is not installed: pip install "lipgnn[slurm]"'),
    "triton": (find_spec, ("triton",), 'Triton is not installed: pip install "lipgnn[triton]"'),
    "pyarrow": (find_spec, ("pyarrow",), 'pyarrow is not installed: pip install "lipgnn[parquet]"'),
    "nbclient": (_both, ("nbclient ipykernel",), 'nbclient is not installed: pip install "lipgnn[notebook]"'),
    "tensorboard": (find_spec, ("tensorboard",), 'TensorBoard is not installed: pip install "lipgnn[tensorboard]"'),
    "mlflow": (find_spec, ("mlflow",), 'MLflow is not installed: pip install "lipgnn[mlflow]"'),
    "wandb": (find_spec, ("wandb",), 'wandb is not installed: pip install "lipgnn[wandb]"'),
    "trackio": (find_spec, ("trackio",), 'Trackio is not installed: pip install "lipgnn[trackio]"'),
    "chromium": (shutil.which, ("chromium", "chromium-browser"), "chromium is not installed"),
    "tex": (shutil.which, ("pdflatex", "tectonic"), "neither pdflatex nor tectonic is installed"),
}
# Who uses one of these fixtures needs the part, and so cannot forget the marker.
FIXTURES = {"interpreter": "triton", "browser": "chromium"}


def obstacle(part):
    """What to say of a part that is missing; None where it is here."""
    look_for, names, reason = PARTS[part]
    return None if any(map(look_for, names)) else reason
