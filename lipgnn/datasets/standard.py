"""Features in the form that suits what they are: rows scaled, or columns standardized by statistics that are kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from lipgnn.datasets.source import Features
from lipgnn.errors import UsageError

# Of all values: features of which more than this are zero are taken for words of a text, weighted or counted.
MOSTLY_ZERO = 0.5
# Of values that a dense matrix may have, so that a wide sparse one does not fill the memory: 16 GB of float32.
_MOST_VALUES = 1 << 32
_ROWS = 1 << 14
# A column that varies by less than rounding is constant; its values become 0.
_ROUNDING = 8 * np.finfo(np.float32).eps


@dataclass(frozen=True, eq=False)
class Statistics:
    """Mean and standard deviation of every feature over all nodes, (F,) float64 each; where it is constant, 1.

    A model keeps those it was trained with, so that other graphs are brought to the same scale.
    """

    mean: np.ndarray
    deviation: np.ndarray

    def to_dict(self) -> dict[str, list[float]]:
        """As plain numbers."""
        return {"mean": self.mean.tolist(), "deviation": self.deviation.tolist()}

    @classmethod
    def from_dict(cls, values: Any, width: int) -> Statistics:
        """From what `to_dict` gave, for so many features.

        Raises
        ------
        ValueError, TypeError, KeyError : it is something else.
        """
        found = cls(*(np.array(values[name], dtype=np.float64) for name in ("mean", "deviation")))
        for array in (found.mean, found.deviation):
            if array.shape != (width,) or not np.isfinite(array).all():
                raise ValueError(f"its statistics are not {width} numbers")
        if (found.deviation <= 0).any():
            raise ValueError("it has a standard deviation that is not positive")
        return found


def form_of(features: Features) -> str:
    """The form that suits features: "row" for texts, whose values are 0 and 1, counts, or mostly zero; or "standard".

    Rows of a text are scaled because texts have different lengths; numbers with a sign or a unit are standardized
    because columns have different units.
    """
    values = features.data if sparse.issparse(features) else features
    if (values < 0).any():
        return "standard"
    nonzero = np.count_nonzero(values) / max(1, features.shape[0] * features.shape[1])
    return "row" if nonzero < MOSTLY_ZERO or (values == np.floor(values)).all() else "standard"


def form_words(form: str) -> str:
    """What `form_of` found, and what is therefore done, in a sentence."""
    if form == "row":
        return "The features are binary, counts or mostly zero, so each row is scaled to sum 1 (--features row)."
    return (
        "The features are real numbers, so each is brought to mean 0 and standard deviation 1 over all nodes "
        "(--features standard)."
    )


def statistics_of(features: Features) -> Statistics:
    """Those of all nodes.

    Raises
    ------
    UsageError : sparse features that are too many to standardize, which makes them dense.
    """
    _check_size(features)
    mean = np.asarray(features.mean(axis=0, dtype=np.float64)).ravel()
    squares = np.zeros_like(mean)
    for rows in _blocks(features):
        squares += np.square(rows - mean).sum(axis=0)
    deviation = np.sqrt(squares / max(1, features.shape[0]))
    return Statistics(mean, np.where(deviation > _ROUNDING * np.abs(mean), deviation, 1.0))


def standardize(features: Features, statistics: Statistics) -> np.ndarray:
    """(x − mean) / deviation, column by column, dense float32; computed in float64."""
    _check_size(features)
    found = np.empty(features.shape, dtype=np.float32)
    start = 0
    for rows in _blocks(features):
        found[start : start + len(rows)] = (rows - statistics.mean) / statistics.deviation
        start += len(rows)
    return found


def _check_size(features: Features) -> None:
    if features.shape[0] * features.shape[1] > _MOST_VALUES:
        raise UsageError(
            f"Standardized features are dense, and {features.shape[0]:,} nodes with {features.shape[1]:,} features "
            "would not fit into memory.",
            "Use --features row or raw.",
        )


def _blocks(features: Features):
    """Some rows after the other, dense, in float64."""
    for start in range(0, features.shape[0], _ROWS):
        rows = features[start : start + _ROWS]
        yield (rows.toarray() if sparse.issparse(rows) else rows).astype(np.float64)
