"""A run of the store, finished: its result, its course, its model. No torch here before the model is asked for."""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lipgnn.api.display import facts_html, shown
from lipgnn.api.places import Place, store_at
from lipgnn.catalog import METRICS
from lipgnn.datasets import Source
from lipgnn.errors import DataError
from lipgnn.results.run import Run as Folder
from lipgnn.spec.run import FIELDS, RunSpec

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

    from lipgnn.api.diagnosing import Diagnosis
    from lipgnn.api.evaluating import Evaluation
    from lipgnn.api.model import Model
    from lipgnn.predict.prediction import Prediction


class Run:
    """A finished run.

    Attributes
    ----------
    id : 12 hexadecimal digits, the same for the same options and data wherever they are given.
    path : its folder.
    result : the row of results.csv: options, scores, times; `lipgnn guide results-and-files` explains each.
    data : what it was trained on, where that was given from Python; None where a name leads to it.
    """

    def __init__(self, folder: Folder, data: Source | None = None):
        result = folder.result()
        if result is None:
            raise DataError(f"Run {folder.id} is not finished.", "Give its train call again.")
        self.id, self.path, self.data = folder.id, folder.path, data
        self.result: dict[str, Any] = result
        self._folder = folder

    @classmethod
    def find(cls, reference: Place, *, results: Place | None = None, data: Any = None) -> Run:
        """A finished run of a store.

        Parameters
        ----------
        reference : its id, the start of one, its name, or its folder.
        results : the store; by default that of the command line.
        data : what it was trained on, where that was in memory.

        Raises
        ------
        UsageError : there is no such run, or ids of several start so.
        DataError : it is not finished.

        Examples
        --------
        >>> import lipgnn
        >>> run = lipgnn.train("planted", layers=2, epochs=3)
        >>> lipgnn.Run.find(run.id[:6]).id == run.id
        True
        """
        return cls(store_at(results).find(os.fspath(reference)), data)

    @property
    def spec(self) -> RunSpec:
        """Every option."""
        return RunSpec.from_mapping({name: self.result[name] for name in FIELDS})

    @property
    def status(self) -> str:
        """ "done", or "diverged" where a number was not finite any more."""
        return self.result["status"]

    @property
    def metric(self) -> str:
        """What a score is, one of `lipgnn.catalog.METRICS`."""
        return self.result["metric"]

    @property
    def test_score(self) -> float | None:
        """On the test part, at the epoch that validation selected."""
        return self.result["test_score"]

    @property
    def val_score(self) -> float | None:
        """On the validation part, at the same epoch."""
        return self.result["val_score"]

    @property
    def train_score(self) -> float | None:
        """On the training part, at the same epoch."""
        return self.result["train_score"]

    @property
    def command(self) -> str:
        """The shortest command line that computes the same."""
        return self.result["command"]

    @cached_property
    def model(self) -> Model:
        """The network at the selected epoch.

        Raises
        ------
        DataError : the run diverged before an epoch could be selected; it has its `last_good` state alone.
        """
        return self._model(self._folder.best_path)

    @cached_property
    def last_good(self) -> Model:
        """The network of a run that diverged, at its last good state, to `diagnose` it or to `train` from there.

        Raises
        ------
        DataError : the run has not diverged.
        """
        return self._model(self._folder.last_good_path)

    @property
    def any_model(self) -> Model:
        """The network at the selected epoch, and of a run that diverged before there was one at its last good state."""
        at_once = self.status == "diverged" and not self._folder.best_path.exists()
        return self.last_good if at_once else self.model

    def _model(self, path: Path) -> Model:
        from lipgnn.api.model import Model

        if not path.exists():
            raise DataError(
                f"Run {self.id} is {self.status} and has no {path.name}.",
                "A run that diverged at once has `last_good` alone, and only runs that diverged have it.",
            )
        return Model(path, self.data)

    def history(self) -> pandas.DataFrame:
        """A row for every epoch that was evaluated: losses, scores, length of the gradient, learning rate, seconds."""
        import pandas

        return pandas.DataFrame(self._folder.read_log())

    def predict(self, graph: Any = None, features: Any = None, **further: Any) -> Prediction:
        """As `Model.predict`."""
        return self.model.predict(graph, features, **further)

    def evaluate(self, data: Any = None, **further: Any) -> Evaluation:
        """As `lipgnn.evaluate`."""
        from lipgnn.api.evaluating import evaluate

        return evaluate(self, data, **further)

    def diagnose(self, data: Any = None, **further: Any) -> Diagnosis:
        """As `lipgnn.diagnose`."""
        from lipgnn.api.diagnosing import diagnose

        return diagnose(self, data, **further)

    def export(self, folder: Place, *, force: bool = False) -> dict[str, Path]:
        """Write a folder to hand on: weights, options, a model card and an example (see `lipgnn.export.export`)."""
        from lipgnn.export import export
        from lipgnn.results.store import Store

        return export(Store(self.path.parent.parent), os.fspath(self.path), Path(folder), force=force)

    def figure(self) -> Figure:
        """The course of the training: losses and scores by epoch, as a figure of matplotlib."""
        from lipgnn.report.figures.course import course_sheet

        return shown(course_sheet(self._folder.read_log(), self._title, METRICS[self.metric].words, self._best))

    @property
    def _best(self) -> int | None:
        return self.result["best_epoch"]

    @property
    def _title(self) -> str:
        own = self.result
        return f"{own['model']}, {own['layers']} layers, norm {own['norm']}, {own['dataset']}"

    def _facts(self) -> list[tuple[str, Any]]:
        own, metric = self.result, METRICS[self.metric].words
        scores = [(f"{part} {metric}", own[f"{part}_score"]) for part in ("test", "val", "train")]
        diverged = [] if self.status == "done" else [("diverged", own.get("diverged_at"))]
        return [
            *diverged,
            *scores,
            ("best epoch", f"{own['best_epoch']} of {own['epochs_run']}, by {own['select']}"),
            ("parameters", f"{own['parameters']:,}"),
            ("seconds", round(own["seconds"], 1)),
            ("run", self.id),
            ("command", self.command),
        ]

    def __repr__(self) -> str:
        score = "no score" if self.test_score is None else f"test {METRICS[self.metric].words} {self.test_score:.4f}"
        return f"<Run {self.id}: {self._title}; {self.status}, {score}>"

    def _repr_html_(self) -> str:
        return facts_html(f"Run {self.id}: {self._title}", self._facts())
