"""One run on two machines, shown by two network namespaces; see tests/support/two_machines.py."""

import json

import pytest
from two_machines import RUN, obstacle, run


def test_two_machines_compute_one_run(tmp_path):
    if reason := obstacle():
        pytest.skip(reason)
    one, two = run(tmp_path, RUN)
    assert (one.returncode, two.returncode) == (0, 0), one.stderr + two.stderr
    result = json.loads(one.stdout)
    assert (result["status"], result["workers"], two.stdout) == ("done", 2, "")
    assert [path.name for path in (tmp_path / "one").iterdir()] == ["results"]
    assert list((tmp_path / "two").iterdir()) == []
    # 20 steps with 20 of 200 coordinates, whose places take 8 bits, of each of 2 workers.
    assert result["parameters"] == 200
    assert result["sent_mb"] * 2**23 == pytest.approx(20 * 2 * 20 * (32 + 8))
    assert result["dense_mb"] * 2**23 == pytest.approx(20 * 32 * 200)
