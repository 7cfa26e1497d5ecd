"""Fuzzers of the formats of data sets: npz in its layouts, tables, Geom-GCN, OGB and Planetoid."""

import gzip
import io
import pickle
import shutil
import zipfile

import numpy as np
import pytest
from fuzz import ATOMS, FORMS, TOKENS, damaged_bytes, damaged_text, fuzz
from hypothesis import strategies as st
from scipy import sparse

from lipgnn.datasets import describe, load, read

NODES = 12
INDEX = np.arange(NODES)
EDGES = np.stack([INDEX, np.roll(INDEX, 1)])


def use(path, split="public"):
    """Read and prepare what is at a path, as a run would."""
    source = read(str(path))
    describe(source)
    load(str(path), split=next(iter(source.splits), split))


def packed(arrays, packing=zipfile.ZIP_STORED):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", packing) as archive:
        for name, array in arrays.items():
            member = io.BytesIO()
            np.lib.format.write_array(member, np.asarray(array), allow_pickle=True)
            archive.writestr(f"{name}.npy", member.getvalue())
    return content.getvalue()


ARRAYS = {
    "edges": EDGES,
    "labels": INDEX % 3,
    "train_mask": INDEX < 6,
    "val_mask": (INDEX > 5) & (INDEX < 9),
    "test_mask": INDEX > 8,
    "directed": np.array(True),
    "class_names": np.array(["a", "b", "c"]),
}
DENSE = {**ARRAYS, "features": np.eye(NODES, 4, dtype=np.float32)}
SPARSE = {
    **ARRAYS,
    "features_data": np.ones(NODES),
    "features_indices": INDEX % 4,
    "features_indptr": np.arange(NODES + 1),
    "features_shape": np.array([NODES, 4]),
}
HETEROPHILOUS = {
    "node_features": np.eye(NODES, 4, dtype=np.float32),
    "node_labels": INDEX % 3,
    "edges": EDGES.T,
    **{f"{part}_masks": np.stack([ARRAYS[f"{part}_mask"]] * 2) for part in ("train", "val", "test")},
}
SHCHUR = {
    **{f"adj_{part}": SPARSE[f"features_{part}"] for part in ("data", "indices", "indptr")},
    "adj_shape": np.array([NODES, NODES]),
    **{f"attr_{part}": SPARSE[f"features_{part}"] for part in ("data", "indices", "indptr", "shape")},
    "labels": INDEX % 3,
}
LAYOUTS = [DENSE, SPARSE, HETEROPHILOUS, SHCHUR]
DTYPES = ["f2", "f4", ">f8", "i1", "i8", "u8", ">i4", "?", "U3", "U0", "S2", "V4", "c8", "M8[s]", "O", "f4,i4"]


@st.composite
def other_arrays(draw):
    """The members of a data set, some of another type or shape, missing or added."""
    arrays = dict(draw(st.sampled_from(LAYOUTS)))
    for _ in range(draw(st.integers(1, 2))):
        name = draw(
            st.sampled_from([*arrays, "features", "train_index", "split_names", "idx_to_class", "attr_matrix", "x"])
        )
        if draw(st.integers(0, 4)) == 0:
            arrays.pop(name, None)
            continue
        shape = tuple(draw(st.lists(st.sampled_from([0, 1, 2, 3, 4, NODES, NODES + 1]), max_size=3)))
        values = np.array(draw(st.lists(st.sampled_from([0, 1, 2, -1, 11, 12, 2**31, 2**62, -(2**63)]), min_size=1)))
        array = np.resize(values, shape)
        with np.errstate(all="ignore"):
            arrays[name] = array.astype(draw(st.sampled_from(DTYPES))) if array.dtype != object else array
    return packed(arrays)


@FORMS
@pytest.mark.parametrize("how", ["bytes", "packed bytes", "arrays"])
def test_npz(request, examples, how, tmp_path):
    path = tmp_path / "x.npz"
    damage = {
        "bytes": st.sampled_from([packed(arrays) for arrays in LAYOUTS]).flatmap(damaged_bytes),
        "packed bytes": st.sampled_from([packed(arrays, zipfile.ZIP_DEFLATED) for arrays in LAYOUTS[1:]]).flatmap(
            damaged_bytes
        ),
        "arrays": other_arrays(),
    }[how]

    def meet(content):
        path.write_bytes(content)
        use(path, "random:0:1:1")

    for arrays in LAYOUTS:
        path.write_bytes(packed(arrays))
        use(path, "random:0:1:1")
    fuzz(request, f"npz, {how}", examples, damage, meet)


NODE_TABLE = "id,label,split,x,y\n" + "".join(
    f"n{k},{'abc'[k % 3]},{'train' if k < 6 else 'val' if k < 9 else 'test'},{k},0.5\n" for k in range(NODES)
)
EDGE_TABLE = "source,target\n" + "".join(f"n{k},n{(k + 1) % NODES}\n" for k in range(NODES))
GEOM_NODES = "node_id\tfeature\tlabel\n" + "".join(f"{k}\t{k % 2},1,0\t{k % 3}\n" for k in range(NODES))
GEOM_INDEXED = "node_id\tfeature_amount:4\tlabel\n" + "".join(f"{k}\t{k % 5}\t{k % 3}\n" for k in range(NODES))
GEOM_EDGES = "a\tb\n" + "".join(f"{k}\t{(k + 1) % NODES}\n" for k in range(NODES))
TEXTS = {
    "tables": {"nodes.csv": NODE_TABLE, "edges.csv": EDGE_TABLE},
    "geom-gcn": {"out1_node_feature_label.txt": GEOM_NODES, "out1_graph_edges.txt": GEOM_EDGES},
    "geom-gcn indexed": {"out1_node_feature_label.txt": GEOM_INDEXED, "out1_graph_edges.txt": GEOM_EDGES},
    "ogb": {
        "raw/num-node-list.csv.gz": f"{NODES}\n",
        "raw/num-edge-list.csv.gz": f"{NODES}\n",
        "raw/edge.csv.gz": "".join(f"{k},{(k + 1) % NODES}\n" for k in range(NODES)),
        "raw/node-feat.csv.gz": "".join(f"{k}.5,-1e-3\n" for k in range(NODES)),
        "raw/node-label.csv.gz": "".join(f"{k % 3}\n" for k in range(NODES)),
        "split/time/train.csv.gz": "0\n1\n2\n",
        "split/time/valid.csv.gz": "3\n4\n",
        "split/time/test.csv.gz": "5\n6\n",
    },
}


@FORMS
@pytest.mark.parametrize("layout", TEXTS)
def test_texts(request, examples, layout, tmp_path, monkeypatch):
    files = TEXTS[layout]
    folder = tmp_path / "set"

    def write(name, content):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(gzip.compress(content, 1) if name.endswith(".gz") else content)

    def meet(case):
        name, content = case
        write(name, content)
        try:
            use(folder, "random:0:1:1")
        finally:
            write(name, files[name].encode())

    for name, text in files.items():
        write(name, text.encode())
    use(folder, "random:0:1:1")
    one = st.sampled_from(sorted(files))
    fuzz(request, layout, examples, one.flatmap(lambda name: st.tuples(st.just(name), damaged_text(files[name]))), meet)


@FORMS
def test_gzipped_bytes(request, examples, tmp_path):
    whole = gzip.compress(NODE_TABLE.encode())
    (tmp_path / "edges.csv").write_text(EDGE_TABLE)

    def meet(content):
        (tmp_path / "nodes.csv.gz").write_bytes(content)
        use(tmp_path)

    fuzz(request, "gzip", examples, damaged_bytes(whole), meet)


def matrix(rows):
    return sparse.csr_matrix(np.eye(rows, 4, dtype=np.float32))


def one_hot(rows):
    return np.eye(3, dtype=np.int32)[np.arange(rows) % 3]


PLANETOID = {
    "x": matrix(3),
    "y": one_hot(3),
    "tx": matrix(4),
    "ty": one_hot(4),
    "allx": matrix(503),
    "ally": one_hot(503),
    "graph": {k: [(k + 1) % 507] for k in range(507)},
}
OBJECTS = st.recursive(
    ATOMS | st.sampled_from([matrix(2), one_hot(2), np.zeros((2, 0)), np.array(7), matrix(503), one_hot(503)]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.integers(0, 600), inner, max_size=3),
    max_leaves=5,
)


@FORMS
@pytest.mark.parametrize("how", ["bytes", "objects", "index"])
def test_planetoid(request, examples, how, tmp_path):
    whole = {part: pickle.dumps(value, protocol=4) for part, value in PLANETOID.items()}
    whole["test.index"] = "".join(f"{k}\n" for k in range(503, 507)).encode()
    for part, content in whole.items():
        (tmp_path / f"ind.x.{part}").write_bytes(content)
    use(tmp_path)
    part = st.sampled_from(sorted(PLANETOID))
    objects = st.tuples(OBJECTS, st.integers(0, 4)).map(lambda case: pickle.dumps(case[0], protocol=case[1]))
    damage = {
        "bytes": part.flatmap(lambda name: st.tuples(st.just(name), damaged_bytes(whole[name]))),
        "objects": st.tuples(part, objects),
        "index": st.tuples(st.just("test.index"), damaged_text(whole["test.index"].decode())),
    }[how]

    def meet(case):
        name, content = case
        (tmp_path / f"ind.x.{name}").write_bytes(content)
        try:
            use(tmp_path)
        finally:
            (tmp_path / f"ind.x.{name}").write_bytes(whole[name])

    fuzz(request, f"planetoid, {how}", examples, damage, meet)


@FORMS
def test_names_and_paths(request, examples, tmp_path, monkeypatch):
    """Any text in place of the name of a data set, of its split and of a form of it."""
    monkeypatch.chdir(tmp_path)
    shutil.rmtree(tmp_path / "x", ignore_errors=True)
    words = (
        st.sampled_from(
            [
                *TOKENS,
                "cora",
                "trees:99",
                "planted",
                "minesweeper",
                "minesweeper:6",
                "chameleon",
                "ogbn-arxiv",
                ".",
                "/",
                "random:0:1:1",
            ]
        )
        | st.text()
    )
    names = st.lists(words, min_size=1, max_size=3).map(":".join)
    cases = st.tuples(names, names) | st.tuples(st.just("planted"), names) | st.tuples(names, st.just("public"))
    fuzz(request, "names", examples, cases, lambda case: load(case[0], split=case[1]))
