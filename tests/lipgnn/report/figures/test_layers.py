"""The figure of a profile."""

import pytest

from lipgnn.report.figures.layers import PANELS, draw_layers


@pytest.fixture
def rows():
    columns = [column for _, _, curves in PANELS for column in curves]
    return [{"layer": layer, **dict.fromkeys(columns, 0.5**layer)} for layer in range(4)]


@pytest.mark.parametrize(("suffix", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_the_same_rows_give_the_same_bytes(rows, suffix, start):
    content = draw_layers(rows, "gat, 3 layers", suffix)
    assert content.startswith(start)
    assert content == draw_layers(rows, "gat, 3 layers", suffix)


def test_every_panel_and_curve_is_named(rows):
    text = draw_layers(rows, "a $ is no formula", "svg").decode()
    for title, _, curves in PANELS:
        assert all(f">{words}<" in text for words in (title, *curves.values()))
    assert "a $ is no formula" in text


@pytest.mark.parametrize("value", [None, 0.0])
def test_what_cannot_be_drawn_is_left_out(rows, value):
    for row in rows:
        row |= {"grad_norm": value, "rank1_residual": value}
    rows[1]["mad"] = None
    assert draw_layers(rows, "", "svg")
