import numpy as np
import pytest

import lipgnn
from lipgnn.errors import DataError


def test_scores_are_those_of_the_run(run):
    found = lipgnn.evaluate(run)
    assert found.scores == {part: run.result[f"{part}_score"] for part in ("train", "val", "test")}
    assert found.test_score == run.test_score and found.metric == "accuracy"
    assert found.confusion.shape == (4, 4)
    assert np.trace(found.confusion) / found.confusion.sum() == pytest.approx(run.test_score)
    assert found.to_pandas()["support"].sum() == found.confusion.sum()
    assert len(found.attention_entropy) == 2
    assert f"{run.test_score:.4f}" in repr(found) and found._repr_html_().count("<table>") == 2


def test_a_certificate_is_added_if_asked_for(run):
    found = lipgnn.evaluate(run, certify=True)
    assert found.certificate.attack["flipped"] == 0 and run.evaluate().certificate is None
    assert found.certificate.verdict.split()[0] in found._repr_html_()


def test_other_data_and_splits(run, own):
    assert lipgnn.evaluate(run, own).scores == run.evaluate().scores
    assert lipgnn.evaluate(run, split="random:0:10:10").confusion.sum() == 400 - 4 * 20
    with pytest.raises(DataError, match="features"):
        lipgnn.evaluate(run, "cora")


def test_data_in_memory_is_remembered(small, own):
    run = lipgnn.train(own, **small)
    assert run.evaluate().test_score == run.test_score and run.evaluate().classes[0]["class"] == "a"


def test_without_classes_there_is_a_table_of_parts(run):
    import dataclasses

    bare = dataclasses.replace(run.evaluate(), classes=None)
    assert bare.to_pandas()["part"].tolist() == ["train", "val", "test"]
    assert bare._repr_html_().count("<table>") == 1
