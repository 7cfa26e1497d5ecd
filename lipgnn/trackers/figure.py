"""The figure of diagnose at the end of a run, for trackers that take pictures."""

from __future__ import annotations

from pathlib import Path

from lipgnn.diagnose.diagnosis import diagnose
from lipgnn.diagnose.subject import TRAINED, Subject
from lipgnn.errors import UsageError
from lipgnn.files import write_atomic
from lipgnn.report.figures.layers import draw_layers
from lipgnn.results.run import Run
from lipgnn.tasks import TaskData
from lipgnn.tasks.saved import load_model


def diagnose_figure(run: Run, dataset: TaskData, device: str, folder: Path) -> Path | None:
    """Draw what `lipgnn diagnose RUN` shows into `folder`.

    Returns
    -------
    the PNG file; None where there is no model, or where diagnose has nothing to say of such a run.
    """
    if not run.best_path.exists():
        return None
    saved = load_model(run.best_path)
    spec = saved.spec
    try:
        found = diagnose(Subject(saved.network, spec, dataset, run.best_path, TRAINED), device)
    except UsageError:
        return None
    path = folder / "diagnose.png"
    title = f"{spec.model}, {spec.layers} layers, {spec.dataset}, at {TRAINED}"
    write_atomic(path, draw_layers(found.to_dict()["layers"], title, "png"))
    return path
