"""The script that builds digits.npz: only the pinned table is accepted, and it makes what ships."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "data" / "source" / "digits.py"


def test_the_table_makes_what_ships(tmp_path):
    pytest.importorskip("sklearn", reason="scikit-learn carries the table")
    subprocess.run([sys.executable, str(SCRIPT), "--out", str(tmp_path)], check=True, cwd=ROOT)
    assert (tmp_path / "digits.npz").read_bytes() == (ROOT / "data" / "digits.npz").read_bytes()


def test_another_table_is_refused_and_nothing_is_written(tmp_path):
    (tmp_path / "table").write_bytes(b"something else")
    out = tmp_path / "out"
    out.mkdir()
    command = [sys.executable, str(SCRIPT), "--table", str(tmp_path / "table"), "--out", str(out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1 and "sha256" in done.stderr
    assert list(out.iterdir()) == []
