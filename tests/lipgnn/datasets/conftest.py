"""A small source to vary, small files of every format, and the raw data where it is at hand."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from lipgnn.datasets import Source, Split

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="session")
def make_source() -> Callable[..., Source]:
    """A six-node source; keywords replace its parts."""

    def make(**changes: Any) -> Source:
        index = np.arange(6)
        parts = {
            "name": "small",
            # Listed in no order, one duplicate (1, 0), one self-loop (3, 3), node 5 isolated.
            "edges": np.array([[2, 0, 1, 1, 3, 4], [1, 1, 0, 0, 3, 2]]),
            "directed": False,
            "features": np.array([[1, 0], [0, 2], [3, 4], [0, 0], [-1, 1], [0, 5]], dtype=np.float32),
            "labels": np.array([0, 1, 1, 0, 2, -1]),
            "splits": {"public": Split(index < 2, index == 2, (index == 3) | (index == 4))},
            "origin": "small-origin",
        }
        return Source(**(parts | changes))

    return make


@pytest.fixture
def sparse_source(make_source) -> Source:
    """The six-node source with sparse features, class names and two splits."""
    dense = make_source()
    other = Split(*(np.roll(mask, -1) & (dense.labels >= 0) for mask in dense.splits["public"].parts.values()))
    return make_source(
        features=sparse.csr_array(dense.features),
        class_names=("a", "b", "ç"),
        splits={**dense.splits, "other": other},
        directed=True,
    )


@pytest.fixture(scope="session")
def same() -> Callable[[Source, Source], None]:
    """Assert that two sources are equal in everything but name and origin."""

    def check(left: Source, right: Source) -> None:
        assert left.directed == right.directed and left.class_names == right.class_names
        np.testing.assert_array_equal(left.edges, right.edges)
        np.testing.assert_array_equal(left.labels, right.labels)
        np.testing.assert_array_equal(left.edge_types, right.edge_types)
        assert type(left.features) is type(right.features) and left.features.dtype == right.features.dtype
        to_dense = lambda features: features.toarray() if sparse.issparse(features) else features  # noqa: E731
        np.testing.assert_array_equal(to_dense(left.features), to_dense(right.features))
        assert list(left.splits) == list(right.splits)
        for name, split in left.splits.items():
            for part, mask in split.parts.items():
                np.testing.assert_array_equal(mask, right.splits[name].parts[part], err_msg=f"{name} {part}")

    return check


@pytest.fixture(scope="session")
def raw_data() -> Path:
    """The folder of raw data: LIPGNN_RAW_DATA, or shared/data beside the checkout."""
    folder = Path(os.environ.get("LIPGNN_RAW_DATA") or ROOT.parent / "shared" / "data")
    if not folder.is_dir():
        pytest.skip("raw data not at hand; name its folder in LIPGNN_RAW_DATA")
    return folder
