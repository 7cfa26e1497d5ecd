"""Very deep graph attention networks with LipschitzNorm, on DGL and PyTorch.

Importing this package is cheap: torch and DGL load with the first module that needs them.
"""

import os

__version__ = "0.1.0"

# Both must be set before torch or DGL is imported. Without the first, DGL prints on stdout and writes
# into the home directory; without the second, waiting threads spin and slow down a shared machine fourfold.
os.environ.setdefault("DGLBACKEND", "pytorch")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
