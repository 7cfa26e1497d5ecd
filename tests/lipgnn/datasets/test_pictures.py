"""Images as they are given: what does not fit together is refused."""

import numpy as np
import pytest

from lipgnn.datasets.pictures import Pictures
from lipgnn.errors import DataError

IMAGES = np.zeros((40, 3, 3), dtype=np.uint8)
LABELS = np.arange(40) % 4


def made(**changes):
    parts = {"images": IMAGES, "labels": LABELS, "brightest": 16, "test": np.zeros(40, dtype=bool)}
    return Pictures(**{"name": "mine", "origin": "here", **parts, **changes})


def test_facts():
    assert (made().side, made().num_classes) == (3, 4)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"images": IMAGES[:, :2]}, r"not bytes of shape \(images, side, side\)"),
        ({"images": IMAGES.astype(float)}, r"images are float64"),
        ({"images": IMAGES[0]}, r"images are uint8 of shape \(3, 3\)"),
        ({"images": IMAGES[:, :0, :0]}, r"images are uint8 of shape \(40, 0, 0\)"),
        ({"labels": LABELS[1:]}, r"not whole numbers of shape \(40,\)"),
        ({"labels": LABELS.astype(float)}, "labels are float64"),
        ({"labels": LABELS - 1}, "label -1 is outside"),
        ({"labels": LABELS + 2000}, "label 2003 is outside"),
        ({"images": IMAGES + np.uint8(17)}, "a pixel is 17, and 16 is the brightest there is"),
        ({"test": np.arange(40) > 5}, "fewer than 30 images to train on"),
    ],
)
def test_what_does_not_fit_is_refused(changes, reason):
    with pytest.raises(DataError, match=reason) as caught:
        made(**changes)
    assert "'here'" in caught.value.message


def test_the_digest_is_of_all_that_is_given():
    other = IMAGES.copy()
    other[7, 1, 1] = 1
    changes = [{}, {"images": other}, {"labels": (LABELS + 1) % 4}, {"test": np.arange(40) > 35}]
    assert len({made(**change).digest() for change in changes}) == 4
    assert made(labels=LABELS.astype(np.uint8)).digest() == made().digest()
