"""Build digits.npz in data/ from the table of digits that scikit-learn carries.

python data/source/digits.py [--table FILE]
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import importlib.util
import sys
from pathlib import Path

import numpy as np

from lipgnn.datasets.formats.arrays import write_arrays

SHA256 = "09f66e6debdee2cd2b5ae59e0d6abbb73fc2b0e0185d2e1957e9ebb51e23aa22"
SIDE = 8


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--table", type=Path, help="digits.csv.gz of scikit-learn, if that is not installed")
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1], help="folder for the npz file")
    arguments = parser.parse_args()
    content = (arguments.table or installed_table()).read_bytes()
    if (found := hashlib.sha256(content).hexdigest()) != SHA256:
        sys.exit(f"The sha256 of the table is {found}, not {SHA256}.")
    write_arrays(arrays_of(content), arguments.out / "digits.npz")


def installed_table() -> Path:
    """The table in an installed scikit-learn, of which nothing is imported."""
    found = importlib.util.find_spec("sklearn")
    if found is None:
        sys.exit("scikit-learn is not installed; give its datasets/data/digits.csv.gz with --table.")
    return Path(found.origin).parent / "datasets" / "data" / "digits.csv.gz"


def arrays_of(table: bytes) -> dict[str, np.ndarray]:
    """Images and labels of the bytes of the table: a line has 64 pixels, row by row, and the digit."""
    rows = np.array([line.split(",") for line in gzip.decompress(table).decode().split()], dtype=np.float64)
    rows = rows.astype(np.uint8)
    return {"images": rows[:, :-1].reshape(-1, SIDE, SIDE), "labels": rows[:, -1]}


if __name__ == "__main__":
    main()
