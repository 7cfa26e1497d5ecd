import json
import sys

from five_files import change_line, write_five_files
from pictures import write_idx_folder

from lipgnn.catalog import DATASETS
from lipgnn.datasets import read, write_npz


def test_verify_knows_what_ships(invoke):
    code, out, _ = invoke("datasets", "verify", "--json")
    verdicts = {row["name"]: row["verdict"] for row in json.loads(out)}
    assert code == 0
    generated = dict.fromkeys(("planted", "complete", "digits-parity", "planar", "mesh"), "readable")
    assert verdicts == {"cora": "whole", "citeseer": "whole", "pubmed": "whole", "digits": "whole", **generated}


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


def test_verify_reads_trajectories_from_end_to_end(invoke, tmp_path):
    folder = write_five_files(tmp_path / "mine")
    code, out, _ = invoke("datasets", "verify", folder, "--json")
    (row,) = json.loads(out)
    assert code == 0 and row["verdict"] == "readable" and "8 nodes, 10 trajectories" in row["detail"]
    change_line(folder, "paths", 31, "0\t0")
    code, out, _ = invoke("datasets", "verify", folder, "--json")
    assert code == 4 and "line 31" in json.loads(out)[0]["detail"]


def test_verify_reads_images_from_end_to_end(invoke, tmp_path):
    folder = write_idx_folder(tmp_path / "mine", packed=False)
    code, out, _ = invoke("datasets", "verify", folder, "--json")
    (row,) = json.loads(out)
    assert code == 0 and row["verdict"] == "readable" and "72 images, fingerprint" in row["detail"]
    whole = (folder / "t10k-images-idx3-ubyte").read_bytes()
    (folder / "t10k-images-idx3-ubyte").write_bytes(whole[:-7])
    code, out, _ = invoke("datasets", "verify", folder, "--json")
    assert code == 4 and "761 values" in json.loads(out)[0]["detail"]
