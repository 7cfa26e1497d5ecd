"""The figure of where group elements look: named panels, the same bytes for the same numbers."""

import numpy as np
import pytest

from lipgnn.groups.grid import words_of
from lipgnn.report.figures.attention import draw_attention
from lipgnn.report.figures.canvas import SUFFIXES


def found(group):
    draw = np.random.RandomState(0)
    return {"image": draw.rand(4, 4), "looks": {name: draw.rand(4, 4) for name in words_of(group)}}


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_same_numbers_give_the_same_bytes(suffix):
    first, second = (draw_attention(found("p4"), "title", suffix) for _ in range(2))
    assert first == second
    assert first.startswith({"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[suffix])


@pytest.mark.parametrize("group", ["z2", "mirror", "p4", "p4m"])
def test_every_element_has_a_panel_of_its_name(group):
    text = draw_attention(found(group), "digits, test image 3", "svg").decode()
    for words in ("image", "share of attention", "digits, test image 3", *words_of(group)):
        assert f">{words}<" in text
    assert text.count("<image") == 2 + len(words_of(group))  # the bar of colours is one as well
