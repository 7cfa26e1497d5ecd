"""The complete graph: its counts, its reproducibility, and that its features are neither trivial nor hopeless."""

from __future__ import annotations

import numpy as np

from lipgnn.datasets import describe, load, prepare
from lipgnn.datasets.generated.complete import generate


def test_counts():
    facts = describe(generate())
    assert (facts["nodes"], facts["features"]) == (200, 32)
    assert [entry["nodes"] for entry in facts["classes"]] == [50] * 4
    assert facts["splits"]["public"] == {"train": 60, "val": 60, "test": 80}


def test_every_node_sees_every_node_once():
    data = load("complete")
    dense = np.zeros((200, 200), int)
    np.add.at(dense, tuple(data.edges), 1)
    assert (dense == 1).all()


def test_every_call_gives_the_same():
    fingerprints = {prepare(made, made.splits["public"]).fingerprint for made in (generate(), generate())}
    # Drawn once with numpy 2.4; a run on `complete` is comparable only as long as this stays.
    assert fingerprints == {"2954feab59ae1610"}


def test_features_give_the_classes_away_in_part():
    """Nearest class mean."""
    source = generate()
    labels, split = source.labels, source.splits["public"]
    means = np.stack([source.features[split.train & (labels == label)].mean(axis=0) for label in range(4)])
    nearest = ((source.features[:, None] - means) ** 2).sum(axis=-1).argmin(axis=1)
    assert 0.5 < (nearest == labels)[split.test].mean() < 1.0
