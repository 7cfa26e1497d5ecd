import json
import math

import numpy as np

from lipgnn.extrapolate.answer import Drawn, Extrapolation, Likelihood
from lipgnn.extrapolate.prefix import Prefix, Truth


def answer(truth=None, **values):
    prefix = Prefix(np.array([[4, 5], [6, 0]]), np.array([[0.25, 0.75], [1.0, 0.0]]), "a list", truth)
    drawn = Drawn([6, 7, 7], [3, None], 1.0, math.log(0.5))
    impossible = Likelihood([6, 4], 1.0, -math.inf)
    return Extrapolation("nb", 2, prefix, np.array([7, 8]), np.array([0.9, 0.1]), [drawn], [impossible], **values)


def test_everything_is_there_as_plain_values():
    found = answer().to_dict(1)
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["prefix"] == [
        [{"node": 4, "weight": 0.25}, {"node": 5, "weight": 0.75}],
        [{"node": 6, "weight": 1.0}],
    ]
    assert (found["ends"], found["reached"]) == ([{"node": 7, "probability": 0.9}], 2)
    assert found["truth"] is None
    (sample,) = found["samples"]
    assert sample["edges"] == [3, None] and sample["probability"] == 0.5


def test_what_cannot_be_has_no_logarithm_and_no_probability():
    (one,) = answer().to_dict()["likelihoods"]
    assert (one["log_probability"], one["probability"]) == (None, 0.0)


def test_the_truth_has_its_edges_and_its_target():
    truth = Truth(np.array([3, 9]), np.array([8, 2]), np.array([1.0, 0.0]))
    path = Likelihood([6, 7, 8], 1.0, -1.5)
    found = answer(truth, true_path=path, target_probability=0.1).to_dict()["truth"]
    assert found["edges"] == [3, 9] and found["target"] == [{"node": 8, "weight": 1.0}]
    assert (found["log_probability"], found["target_probability"]) == (-1.5, 0.1)
