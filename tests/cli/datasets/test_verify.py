import json
import sys

from lipgnn.catalog import DATASETS
from lipgnn.datasets import read, write_npz


def test_verify_knows_what_ships(invoke):
    code, out, _ = invoke("datasets", "verify", "--json")
    verdicts = {row["name"]: row["verdict"] for row in json.loads(out)}
    assert code == 0
    generated = dict.fromkeys(("planted", "complete"), "readable")
    assert verdicts == {"cora": "whole", "citeseer": "whole", "pubmed": "whole", **generated}


def test_verify_finds_damage(invoke, data, monkeypatch):
    data.mkdir()
    (data / "broken.npz").write_bytes(b"no")
    code, out, _ = invoke("datasets", "verify", "broken", "cora")
    assert code == 4
    assert "damaged" in out and "whole" in out


def test_verify_finds_a_file_that_was_replaced_by_another(invoke, tmp_path, monkeypatch):
    # By sys.modules, because the package has a function of the module's name.
    monkeypatch.setattr(sys.modules["lipgnn.datasets.locate"], "shipped_directory", lambda: tmp_path)
    write_npz(read("planted"), tmp_path / "cora.npz")
    code, out, _ = invoke("datasets", "verify", "cora")
    assert code == 4
    assert DATASETS["cora"].fingerprint in out
