"""The shipped files hold exactly the published data."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from lipgnn.datasets import load, read
from lipgnn.datasets.locate import shipped_directory

# sha256 of arrays computed from Planetoid's raw files with plain pickle and numpy, independently of this package:
# undirected pairs (smaller id first, sorted) as int64, dense features as float32, labels as int64 (-1 unknown),
# the test mask as bool, all little-endian.
DIGESTS = {
    "cora": {
        "edges": "77b2d0ad6bdc31beefce3956fca3e6c6c608f5c61da6f8ad6f55a5b72425db60",
        "features": "f0faab5177bcc12f5688f042c8e0ed24ffb9baa8efc3ae7cde440d42524c9075",
        "labels": "d0018d7ffd314eb25a4904973f2c7eb1b7be135d668de42d453714724f8e9d03",
        "test": "ec05c123cc125ff38ad3963cba5d85415a2e7b125dc68064bbf65fb0661644e6",
    },
    "citeseer": {
        "edges": "a175d643c1915f9e7325ed345ff16c865b679063f21e652c3c7ce76e0139ac75",
        "features": "cb9a425333dd8d1ae650e0eb4f3d65b14920aa6d5f0d4efa56d60f18f8d8c600",
        "labels": "a33560b649dadb27528b35f6bf2a3976cdc61d2e24ae8db5f5d503233b0ef7aa",
        "test": "e5f2dd697aa940453faf3ca12682f7ddb7da9a7b011e141672be2b230889b30a",
    },
    "pubmed": {
        "edges": "891688449aa2e9f68bad00cb1fd43351afbc646518864c96b586a5cc83df3a9d",
        "features": "4f1804517a3fab22c6ae1df7674c6a194acefcd242dc843930da79ce9ea6f681",
        "labels": "973a30d7c0567fe67fb9026058f1105859f87d44981b7b88992d648877d174c7",
        "test": "fd659d892af41768c740746a0ecccdb3984e5277939e9264588b5f6efb4d5385",
    },
}
NUM_TRAIN = {"cora": 140, "citeseer": 120, "pubmed": 60}


def _digest(array, dtype: str) -> str:
    return hashlib.sha256(np.ascontiguousarray(array, dtype=dtype).tobytes()).hexdigest()


@pytest.mark.parametrize("name", DIGESTS)
def test_arrays_have_the_published_digests(name):
    data = load(name)
    sources, targets = data.edges[:, data.edges[0] < data.edges[1]]
    order = np.lexsort((targets, sources))
    assert {
        "edges": _digest(np.stack([sources[order], targets[order]], axis=1), "<i8"),
        "features": _digest(data.features_array.toarray(), "<f4"),
        "labels": _digest(data.labels_array, "<i8"),
        "test": _digest(data.split.test, "|b1"),
    } == DIGESTS[name]
    first = NUM_TRAIN[name]
    assert np.flatnonzero(data.split.train).tolist() == list(range(first))
    assert np.flatnonzero(data.split.val).tolist() == list(range(first, first + 500))


def test_fingerprints_stay():
    """Run ids contain them: results of other versions are comparable only as long as these do not change."""
    assert {name: load(name).fingerprint for name in DIGESTS} == {
        "cora": "2f076c7e7e3e6f37",
        "citeseer": "b7277d34a3c61321",
        "pubmed": "29c28cc750352a49",
    }


def test_classes_of_cora_have_names():
    source = read("cora")
    sizes = dict(zip(source.class_names, np.bincount(source.labels).tolist(), strict=True))
    # The sizes LINQS gives for its named classes.
    assert sizes == {
        "Case_Based": 298,
        "Genetic_Algorithms": 418,
        "Neural_Networks": 818,
        "Probabilistic_Methods": 426,
        "Reinforcement_Learning": 217,
        "Rule_Learning": 180,
        "Theory": 351,
    }


def test_the_files_stay_small():
    assert sum(path.stat().st_size for path in shipped_directory().glob("*.npz")) < 6e6
