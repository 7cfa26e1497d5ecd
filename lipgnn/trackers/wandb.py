"""Logging for Weights & Biases: `runs/<id>/wandb`, and over the network where whoever runs it is logged in."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from lipgnn.trackers.tracker import PROJECT, Tracked

_EXIT_CODES = {"done": 0, "diverged": 0, "interrupted": 255, "failed": 1}


class WandB:
    """History by epoch, options and facts as config, final numbers as summary, and the figure as image.

    WANDB_MODE, WANDB_PROJECT, WANDB_ENTITY and WANDB_DIR hold as everywhere. Without WANDB_MODE the run is offline
    where nobody is logged in, and `wandb sync` sends it later. A run that goes on offline is logged from its beginning,
    into another file of the same run: what a server has of it already is left as it is there.
    """

    def __init__(self, run: Tracked):
        # Its faults are reported over the network otherwise, also offline.
        os.environ.setdefault("WANDB_ERROR_REPORTING", "false")
        import wandb

        self._wandb = wandb
        chosen = {"project": os.environ.get("WANDB_PROJECT", PROJECT)}
        if "WANDB_DIR" not in os.environ:
            chosen["dir"] = str(run.folder)
        if "WANDB_MODE" not in os.environ and not wandb.login(prompt=False, verify=False):
            chosen["mode"] = "offline"
        self._run = wandb.init(
            id=run.id,
            name=run.title,
            config=run.known,
            resume="allow",
            reinit="create_new",
            settings=wandb.Settings(console="off", silent=True, disable_git=True, save_code=False),
            **chosen,
        )
        self.last = self._run.step - 1

    def log(self, epoch: int, numbers: Mapping[str, float]) -> None:
        self._run.log(dict(numbers), step=epoch)

    def end(self, status: str, epoch: int, numbers: Mapping[str, float], figure: Path | None) -> None:
        self._run.summary.update({"status": status, **numbers})
        if figure is not None:
            self._run.log({"diagnose": self._wandb.Image(str(figure))})
        self._run.finish(exit_code=_EXIT_CODES[status])
