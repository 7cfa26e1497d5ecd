"""Score against size: a model compressed to several widths, beside itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from lipgnn.compress.compression import Compression, Compressor, Progress
from lipgnn.compress.effect import Effect, Standing, effect_of, standing_of, uniform_standing
from lipgnn.compress.inputs import moments_of
from lipgnn.tasks import TaskData
from lipgnn.tasks.saved import SavedModel

FITS = ("weights", "data")


@dataclass(frozen=True)
class Curve:
    """A model by its size and its scores on data, as it was and compressed.

    Attributes
    ----------
    fit : what the compressions come near to: the weights of queries and keys, or their scores on the data.
    before, uniform : the model as it was, and with the same attention for all neighbours.
    compressions, effects : of every width, from the least on.
    """

    fit: str
    before: Standing
    uniform: Standing
    compressions: list[Compression]
    effects: list[Effect]

    @property
    def advised(self) -> int:
        """The least width that costs at most a point of the validation score; the widest where all cost more."""
        wanted = self.before.scores["val"]
        for effect in self.effects:
            found = effect.standing.scores["val"]
            if None not in (wanted, found) and found >= wanted - 0.01:
                return effect.standing.shared_dim
        return self.effects[-1].standing.shared_dim


def curve(
    saved: SavedModel,
    data: TaskData,
    device: torch.device,
    *,
    widths: Sequence[int] = (),
    max_error: float = 0.0,
    fit: str = "weights",
    progress: Progress = lambda *_: None,
) -> Curve:
    """Compress a model to several widths, each of which the next starts from, and measure all of them.

    Parameters
    ----------
    widths : without any, it is the least at which the relative error of no layer is above `max_error`.
    fit : one of FITS.

    Raises
    ------
    UsageError : the model cannot be compressed, or not to such a width.
    DataError : the data has another shape than the model.
    """
    before, uniform = (measure(saved, data, device) for measure in (standing_of, uniform_standing))
    compressor = Compressor(saved, moments=moments_of(saved, data, device) if fit == "data" else None)
    asked = sorted(widths) or [compressor.least(max_error, progress)]
    compressions = [compressor.at(width, progress) for width in asked]
    effects = [effect_of(saved, one, data, device) for one in compressions]
    return Curve(fit, before, uniform, compressions, effects)
