"""The digits as nodes: what they are made from, and an optimum that is known."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from lipgnn.catalog import DATASETS
from lipgnn.datasets import count_edges, load
from lipgnn.datasets.generated.digits_parity import generate
from lipgnn.datasets.images import read_pictures


def test_pixels_are_standardized_and_rows_have_length_one():
    source, pictures = generate(), read_pictures("digits")
    assert source.features.shape == (1797, 64)
    np.testing.assert_allclose(np.linalg.norm(source.features, axis=1), 1, atol=1e-5)
    dark = pictures.images.reshape(1797, -1).max(axis=0) == 0
    assert dark.any()
    assert (source.features[:, dark] == 0).all()
    assert (source.labels[:, 0] == (pictures.labels % 2 == 0)).all()


def test_it_has_no_edges_and_all_nodes_in_every_part():
    data = load("digits-parity", split="all", features="raw")
    assert count_edges("digits-parity") == DATASETS["digits-parity"].edges == data.graph.num_edges() == 1797
    assert all(mask.all() for mask in data.split.parts.values())
    assert data.task == "labels"


def test_its_optimum_is_the_one_that_is_known():
    source = generate()
    x, y = source.features.astype(np.float64), 2 * source.labels[:, 0].astype(np.float64) - 1
    n = len(y)

    def objective(w):
        margins = y * (x @ w)
        return np.logaddexp(0, -margins).mean() + w @ w / (2 * n), -(x.T @ (y / (1 + np.exp(margins)))) / n + w / n

    found = minimize(objective, np.zeros(64), jac=True, method="L-BFGS-B", options={"ftol": 1e-14, "maxiter": 500})
    assert round(found.fun, 5) == 0.26644
