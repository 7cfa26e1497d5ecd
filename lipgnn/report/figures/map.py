"""The figure `map`: the roads around a prefix, where its walker went and where a model says that it is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lipgnn.report.figures.canvas import content_of
from lipgnn.report.figures.style import COLOURS, WIDTH, in_print

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, RED, GREEN = COLOURS[0], COLOURS[1], COLOURS[2]
ROAD, SAMPLE = "#cccccc", "#7a5195"
# Of the probability so much is within the picture, the largest first.
SHOWN = 0.95
# The picture is so wide, in inches, and its map at most so high, as a share of the width, and at least.
ACROSS, TALLEST, LOWEST = 1.7 * WIDTH, 1.15, 0.45
MARGIN = 0.07
# What the map has of the width, beside the bar of colours, and the inches that title and legend take.
OF_WIDTH, LINES_OF_TEXT = 0.855, 0.55
METRES_A_DEGREE = 111_195.0


def draw_map(found: Mapping[str, Any], coordinates: np.ndarray, edges: np.ndarray, title: str, suffix: str) -> bytes:
    """Draw what `lipgnn.extrapolate` found.

    Parameters
    ----------
    found : as its `to_dict` gives it, with all ends.
    coordinates : (N, 2), of the nodes; degrees of longitude and latitude, or places of the unit square.
    edges : (2, E), sources and targets of the roads.
    suffix : one of SUFFIXES.

    Returns
    -------
    the content of the file; the same numbers give the same bytes.
    """
    with in_print("map"):
        from matplotlib.figure import Figure

        unit, places = projected(coordinates)
        low, high = _box(found, places)
        share = float(np.clip((high - low)[1] / (high - low)[0], LOWEST, TALLEST))
        low, high = _filled(low, high, share)
        sheet = Figure(figsize=(ACROSS, OF_WIDTH * ACROSS * share + LINES_OF_TEXT), layout="constrained")
        axes = sheet.add_subplot()
        axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal", xticks=[], yticks=[])
        axes.set_title(title, fontsize="medium")
        axes.grid(False)
        axes.spines[:].set(visible=True, color="#999999", linewidth=0.6)
        _draw_roads(axes, places, edges, low, high)
        handles = _draw_paths(axes, found, places)
        _draw_mass(sheet, axes, found, places)
        handles = [*_draw_prefix(axes, found["prefix"], places), *handles]
        _draw_scale(axes, low, high, unit)
        sheet.legend(handles=handles, loc="outside lower center", ncols=len(handles), handlelength=2)
        return content_of(sheet, suffix)


def projected(coordinates: np.ndarray) -> tuple[str | None, np.ndarray]:
    """Places in metres and "m", for degrees of longitude and latitude; places of the unit square as they are, and None.

    A degree of longitude is as long as one of latitude times the cosine of the latitude, here that of the middle.
    """
    if ((coordinates >= 0) & (coordinates <= 1)).all():
        return None, coordinates
    middle = (coordinates.min(axis=0) + coordinates.max(axis=0)) / 2
    lengths = METRES_A_DEGREE * np.array([math.cos(math.radians(middle[1])), 1.0])
    return "m", (coordinates - middle) * lengths


def bar_length(width: float) -> float:
    """1, 2 or 5 times a power of ten: the longest that is at most a quarter of a width."""
    power = 10.0 ** math.floor(math.log10(width / 4))
    return max(factor * power for factor in (1, 2, 5) if factor * power <= width / 4)


def centre(observation: Sequence[Mapping[str, Any]], places: np.ndarray) -> np.ndarray:
    """The mean place of the nodes of an observation, by their weights."""
    weights = np.array([one["weight"] for one in observation])
    return weights @ places[[one["node"] for one in observation]] / weights.sum()


def _box(found: Mapping[str, Any], places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The corners of what matters, with a margin."""
    masses = np.array([end["probability"] for end in found["ends"]])
    likely = int(np.searchsorted(np.cumsum(masses), SHOWN)) + 1
    nodes = [end["node"] for end in found["ends"][:likely]]
    if truth := found["truth"]:
        nodes += [*truth["nodes"], *(one["node"] for one in truth["target"])]
    points = np.concatenate([places[nodes], [centre(one, places) for one in found["prefix"]]])
    low, high = points.min(axis=0), points.max(axis=0)
    size = (high - low).max() or np.ptp(places, axis=0).max() / 20 or 1.0
    return low - MARGIN * size, high + MARGIN * size


def _filled(low: np.ndarray, high: np.ndarray, share: float) -> tuple[np.ndarray, np.ndarray]:
    """The corners moved apart, so that the height is the given share of the width."""
    width, height = high - low
    size = np.array([max(width, height / share), max(height, width * share)])
    middle = (low + high) / 2
    return middle - size / 2, middle + size / 2


def _draw_roads(axes: Axes, places: np.ndarray, edges: np.ndarray, low: np.ndarray, high: np.ndarray) -> None:
    from matplotlib.collections import LineCollection

    # Both directions of a road are one line.
    ends = np.unique(np.sort(edges, axis=0), axis=1)
    first, second = places[ends[0]], places[ends[1]]
    near = ((np.minimum(first, second) <= high) & (np.maximum(first, second) >= low)).all(axis=1)
    lines = np.stack([first[near], second[near]], axis=1)
    axes.add_collection(LineCollection(lines, colors=ROAD, linewidths=0.6, zorder=1), autolim=False)


def _draw_paths(axes: Axes, found: Mapping[str, Any], places: np.ndarray) -> list[Any]:
    """The true path under the sampled ones, which let it shine through; what the legend says of both."""
    from matplotlib.lines import Line2D

    handles = []
    if truth := found["truth"]:
        look = {"color": GREEN, "linewidth": 3.2, "alpha": 0.75, "solid_capstyle": "round"}
        axes.plot(*places[truth["nodes"]].T, **look, zorder=2)
        star = {"marker": "*", "markersize": 11, "markeredgecolor": "white", "markeredgewidth": 0.6}
        axes.plot(*centre(truth["target"], places), color=GREEN, linestyle="", **star, zorder=7)
        handles.append(Line2D([], [], label="true path and target", **look, **star))
    if samples := found["samples"]:
        look = {"color": SAMPLE, "linewidth": 1.1, "alpha": 0.5 if len(samples) > 1 else 0.8}
        for one in samples:
            axes.plot(*places[one["nodes"]].T, **look, zorder=3)
        words = f"{len(samples)} samples" if len(samples) > 1 else "sample"
        handles.append(Line2D([], [], label=words, **look))
    return handles


def _draw_mass(sheet: Figure, axes: Axes, found: Mapping[str, Any], places: np.ndarray) -> None:
    """A disc for every node with a probability, the area and the colour by it; the largest lie on top."""
    ends = found["ends"][::-1]
    mass = np.array([end["probability"] for end in ends])
    x, y = places[[end["node"] for end in ends]].T
    discs = axes.scatter(
        *(x, y),
        s=2.5 + 130 * mass / mass.max(),
        c=mass,
        cmap="YlOrRd",
        vmin=0,
        edgecolors="#5a1a00",
        linewidths=0.3,
        zorder=5,
    )
    steps = found["steps"]
    bar = sheet.colorbar(discs, ax=axes, fraction=0.035, pad=0.015)
    bar.set_label(f"probability after {steps} step" + ("" if steps == 1 else "s"))
    bar.outline.set_linewidth(0.4)


def _draw_prefix(axes: Axes, prefix: Sequence[Sequence[Mapping[str, Any]]], places: np.ndarray) -> list[Any]:
    """A numbered disc for every observation, in the middle of its nodes."""
    from matplotlib.lines import Line2D

    centres = np.array([centre(one, places) for one in prefix])
    axes.plot(*centres.T, color=BLUE, linewidth=0.9, linestyle=(0, (2, 2)), alpha=0.8, zorder=4)
    disc = {"marker": "o", "markersize": 9, "markeredgecolor": "white", "markeredgewidth": 0.7, "color": BLUE}
    axes.plot(*centres.T, linestyle="", **disc, zorder=6)
    for number, place in enumerate(centres, start=1):
        axes.text(*place, str(number), color="white", fontsize=6.5, weight="bold", ha="center", va="center", zorder=8)
    label = f"observed, 1 to {len(prefix)}" if len(prefix) > 1 else "observed"
    return [Line2D([], [], label=label, linestyle=(0, (2, 2)), linewidth=0.9, **disc)]


def _draw_scale(axes: Axes, low: np.ndarray, high: np.ndarray, unit: str | None) -> None:
    """A bar of a round length in the corner with the fewest things, as far as that can be told: below on the left."""
    width, height = high - low
    length = bar_length(width)
    x, y = low + np.array([0.03 * width, 0.035 * height])
    words = f"{length:g}" if unit is None else f"{length:g} m" if length < 1000 else f"{length / 1000:g} km"
    behind = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1.5}
    axes.plot([x, x + length], [y, y], color="black", linewidth=1.6, solid_capstyle="butt", zorder=9)
    middle = (x + length / 2, y + 0.015 * height)
    axes.text(*middle, words, fontsize="small", ha="center", va="bottom", bbox=behind, zorder=8)
