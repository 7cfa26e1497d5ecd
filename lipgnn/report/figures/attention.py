"""The figure `attention`: an image, and where each element of a group looks in it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from lipgnn.report.figures.canvas import content_of
from lipgnn.report.figures.style import in_print

# Inches of a panel, and how many stand beside each other.
PANEL, ACROSS = 1.35, 5


def draw_attention(found: Mapping[str, Any], title: str, suffix: str) -> bytes:
    """Draw what `lipgnn.tasks.rotations.looks_of` found.

    Parameters
    ----------
    found : `image` (S, S), and `looks`, (S, S) for every element of the group by its name.
    suffix : one of SUFFIXES.

    Returns
    -------
    the content of the file; the same numbers give the same bytes.
    """
    with in_print("attention"):
        from matplotlib.figure import Figure

        looks = found["looks"]
        across = min(ACROSS, 1 + len(looks))
        down = math.ceil((1 + len(looks)) / across)
        sheet = Figure(figsize=(PANEL * across + 0.6, (PANEL + 0.25) * down + 0.3), layout="constrained")
        places = list(sheet.subplots(down, across, squeeze=False).flat)
        places[0].imshow(found["image"], cmap="gray_r", interpolation="nearest")
        places[0].set_title("image", fontsize="medium")
        highest = max(float(shares.max()) for shares in looks.values())
        for axes, (name, shares) in zip(places[1:], looks.items(), strict=False):
            drawn = axes.imshow(shares, cmap="viridis", vmin=0, vmax=highest, interpolation="nearest")
            axes.set_title(name, fontsize="medium")
        for axes in places:
            axes.set(xticks=[], yticks=[])
            axes.grid(visible=False)
        for axes in places[1 + len(looks) :]:
            axes.remove()
        sheet.colorbar(drawn, ax=places[: 1 + len(looks)], label="share of attention", fraction=0.03, pad=0.01)
        sheet.suptitle(title, fontsize="medium")
        return content_of(sheet, suffix)
