"""Files from strangers take no memory that their size does not account for: each ends with code 4, below 1 GB."""

import gzip
import io
import json
import subprocess
import sys
import zipfile
from types import SimpleNamespace

import numpy as np
import pytest

NODES = 40


def arrays(**changes):
    """The members of a small data set."""
    index = np.arange(NODES)
    return {
        "edges": np.array([[0, 1], [1, 2]]),
        "features": np.ones((NODES, 3), np.float32),
        "labels": index % 2,
        "train_mask": index < 20,
        "val_mask": index == 20,
        "test_mask": index > 20,
        **changes,
    }


def dense_zeros(folder):
    np.savez_compressed(folder / "x.npz", **arrays(features=np.zeros((NODES, 5 * 10**6), np.uint8)))
    return folder / "x.npz"


def many_columns(folder):
    parts = {"data": np.ones(1), "indices": np.zeros(1, int), "indptr": np.r_[0, np.ones(NODES, int)]}
    members = arrays(**{f"features_{name}": part for name, part in parts.items()}, features_shape=[NODES, 10**8])
    del members["features"]
    np.savez(folder / "x.npz", **members)
    return folder / "x.npz"


def many_classes(folder):
    np.savez(folder / "x.npz", **arrays(labels=np.r_[10**8, np.zeros(NODES - 1, int)]))
    return folder / "x.npz"


def large_header(folder):
    """A header that announces 400 GB and is followed by nothing."""
    np.savez(folder / "whole.npz", **arrays())
    content = io.BytesIO()
    np.lib.format.write_array_header_1_0(content, {"descr": "<f4", "fortran_order": False, "shape": (10**9, 100)})
    with zipfile.ZipFile(folder / "whole.npz") as whole, zipfile.ZipFile(folder / "x.npz", "w") as archive:
        for name in whole.namelist():
            archive.writestr(name, content.getvalue() if name == "features.npy" else whole.read(name))
    return folder / "x.npz"


def lzma_dictionary(folder):
    np.savez(folder / "whole.npz", **arrays())
    with (
        zipfile.ZipFile(folder / "whole.npz") as whole,
        zipfile.ZipFile(folder / "x.npz", "w", zipfile.ZIP_LZMA) as archive,
    ):
        for name in whole.namelist():
            archive.writestr(name, whole.read(name))
    return folder / "x.npz"


def table_of_zeros(folder):
    (folder / "edges.csv").write_text("source,target\n")
    with gzip.open(folder / "nodes.csv.gz", "wb", compresslevel=1) as file:
        file.write(b"id,label,x\n" + b"0,0,0\n" * (3 * 10**7))
    return folder


def geom_gcn_zeros(folder):
    (folder / "out1_graph_edges.txt").write_text("a\tb\n0\t1\n")
    with gzip.open(folder / "out1_node_feature_label.txt.gz", "wb", compresslevel=1) as file:
        file.write(b"header\n" + b"0\t0\t0\n" * (3 * 10**7))
    return folder


def ogb(folder, **files):
    """A tiny folder of OGB's, with other content for some files."""
    texts = {
        "raw/num-node-list": "3\n",
        "raw/num-edge-list": "2\n",
        "raw/edge": "0,1\n1,2\n",
        "raw/edge-feat": "1\n2\n",
        "raw/node-label": "0\n1\n0\n",
        "split/time/train": "0\n",
        "split/time/valid": "1\n",
        "split/time/test": "2\n",
    }
    for name, text in (texts | files).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.csv.gz").write_bytes(gzip.compress(text.encode(), 1))
    return folder


def ogb_zeros(folder):
    return ogb(folder, **{"raw/edge": "0,0\n" * (7 * 10**7)})


def ogb_many_nodes(folder):
    return ogb(folder, **{"raw/num-node-list": f"{10**12}\n"})


def planetoid(folder, graph):
    """A set whose first file to be read is the neighbour lists'."""
    for part in ("x", "y", "tx", "ty", "allx", "ally", "graph"):
        (folder / f"ind.x.{part}").write_bytes(graph)
    (folder / "ind.x.test.index").write_text("0\n")
    return folder


def memo(folder):
    return planetoid(folder, b"\x80\x02Nr\xff\xff\xff\x0f.")


def text_memo(folder):
    return planetoid(folder, b"Np4294967295\n.")


def copied_lists(folder):
    """One list of 10 000 entries, copied 100 000 times by calling `list`."""
    one = b"](" + b"K\x00" * 10_000 + b"eq\x00"
    return planetoid(
        folder, b"\x80\x02]q\x01(" + one + b"c__builtin__\nlist\nq\x020" + b"h\x02h\x00\x85R" * 10**5 + b"e."
    )


BOMBS = [
    *(dense_zeros, many_columns, many_classes, large_header, lzma_dictionary, table_of_zeros, geom_gcn_zeros),
    *(ogb_zeros, ogb_many_nodes, memo, text_memo, copied_lists),
]
SHOW = """
import sys
from cli.main import run
from lipgnn.memory import peak_memory
code = run(["datasets", "show", sys.argv[1]])
print(code, peak_memory())
"""


@pytest.mark.parametrize("bomb", BOMBS, ids=lambda bomb: bomb.__name__)
def test_a_file_takes_no_memory_that_its_size_does_not_account_for(bomb, tmp_path):
    path = bomb(tmp_path)
    size = sum(file.stat().st_size for file in (path.rglob("*") if path.is_dir() else [path]) if file.is_file())
    assert size < 10 * 10**6
    done = subprocess.run([sys.executable, "-c", SHOW, str(path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    code, peak = map(int, done.stdout.split())
    assert (code, peak < 2**30) == (4, True), done.stderr
    assert "Internal" not in done.stderr


def test_a_list_under_many_names_does_not_multiply(tmp_path):
    """10 000 nodes share one list of 10 000 neighbours: 100 million edges in 60 kB."""
    from lipgnn.datasets.formats.pickles import read_pickle
    from lipgnn.datasets.formats.planetoid import _listed_edges

    one = b"](" + b"K\x00" * 10_000 + b"eq\x000"
    entries = b"".join(b"M" + number.to_bytes(2, "little") + b"h\x00" for number in range(10_000))
    path = tmp_path / "ind.x.graph"
    path.write_bytes(b"\x80\x02" + one + b"}(" + entries + b"u.")
    with pytest.raises(ValueError, match="neighbours"):
        _listed_edges(read_pickle(path), path.stat().st_size)


@pytest.mark.parametrize(
    "changes, reason",
    [
        ({"spec": {"layers": 10**6}}, "layers must be at least 0 and at most 10000"),
        ({"spec": {"layers": 10**4}}, "10000 layers and has"),
        ({"spec": {"hidden": 10**18}}, "no network is as it says"),
        ({"shape": [10**30, 3]}, "no network is as it says"),
        ({"shape": [10**8, 10**8]}, "not \\("),
        ({"shape": [5, -3]}, "its shape is"),
        ({"shape": 7}, "its shape is"),
        ({"class_names": 7}, "its class names"),
        ({"class_names": ["a"]}, "its class names"),
        ({"task": ["nodes"]}, "Cannot use the model file"),
        ({"schema": []}, "schema version"),
        ({"fingerprint": None, "task": None}, "Cannot use the model file"),
    ],
)
def test_a_model_file_is_held_against_its_tensors_before_a_network_is_built(tmp_path, changes, reason):
    from networks import network_of
    from safetensors.torch import save_file

    from lipgnn.errors import DataError
    from lipgnn.spec.run import RunSpec
    from lipgnn.tasks.saved import load_model, save_model

    spec = RunSpec(layers=2, hidden=2, heads=2)
    data = SimpleNamespace(fingerprint="f", task="nodes", shape=(5, 3), class_names=None)
    weights = network_of(spec, 5, 3).state_dict()
    path = tmp_path / "best.safetensors"
    save_model(path, weights, spec=spec, dataset=data)
    described = {"schema": 2, "spec": spec.to_dict(), "fingerprint": "f", "task": "nodes", "shape": [5, 3]}
    described |= {"class_names": None, **changes, "spec": {**spec.to_dict(), **changes.get("spec", {})}}
    save_file(weights, path, metadata={"lipgnn": json.dumps(described)})
    with pytest.raises(DataError, match=reason) as caught:
        load_model(path)
    assert "\n" not in caught.value.message
