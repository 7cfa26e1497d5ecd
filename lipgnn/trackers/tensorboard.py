"""Logging for TensorBoard: event files in `runs/<id>/tensorboard`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from lipgnn.trackers.tracker import Tracked


class TensorBoard:
    """Scalars by epoch, the options as text and as hyperparameters beside the final scores, and the figure as image.

    A run that goes on writes a new file beside the earlier ones, and tells readers to drop what these have of later
    epochs (`purge_step`).
    """

    def __init__(self, run: Tracked):
        from torch.utils.tensorboard import SummaryWriter

        folder = run.folder / "tensorboard"
        self.last = run.epoch if folder.exists() else -1
        self._options = {name: v if isinstance(v, int | float | str) else str(v) for name, v in run.known.items()}
        self._writer = SummaryWriter(folder, purge_step=self.last + 1 if folder.exists() else None)
        rows = [f"| {name} | {_cell(value)} |" for name, value in self._options.items()]
        self._writer.add_text("spec", "\n".join([f"{run.title}\n", "| option | value |", "|---|---|", *rows]), 0)

    def log(self, epoch: int, numbers: Mapping[str, float]) -> None:
        for name, value in numbers.items():
            self._writer.add_scalar(name, value, epoch)
        # A process that is killed has written all epochs up to its last checkpoint.
        self._writer.flush()

    def end(self, status: str, epoch: int, numbers: Mapping[str, float], figure: Path | None) -> None:
        self._writer.add_text("status", status, epoch)
        if figure is not None:
            from matplotlib.image import imread

            self._writer.add_image("diagnose", imread(figure), epoch, dataformats="HWC")
        if numbers:
            # "." writes into the same folder, of which TensorBoard makes one run.
            self._writer.add_hparams(self._options, dict(numbers), run_name=".", global_step=epoch)
        self._writer.close()


def _cell(value: object) -> str:
    return str(value).replace("|", "\\|")
