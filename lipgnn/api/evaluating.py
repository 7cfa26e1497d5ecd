"""`lipgnn.evaluate`: a trained model on its own data or on other data of the same shape."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lipgnn.api.display import facts_html, rows_html
from lipgnn.api.libraries import as_data
from lipgnn.api.model import load
from lipgnn.api.places import Place, data_for_model
from lipgnn.api.run import Run
from lipgnn.catalog import METRICS

if TYPE_CHECKING:
    import pandas
    import torch

    from lipgnn.certify.certificate import Certificate
    from lipgnn.tasks import FurtherTable, TaskData
    from lipgnn.tasks.saved import SavedModel


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What a model does on a data set.

    Attributes
    ----------
    dataset : its name.
    metric : what a score is, one of `lipgnn.catalog.METRICS`.
    scores : by part: train, val, test; None where the metric has nothing to say of a part.
    official : the same by OGB's own evaluator, for its data sets.
    classes : for every class of the test part: name, support, precision, recall, f1. None if labels are no classes.
    confusion : (C, C) whole numbers, of the true class by the predicted one, test part; None as well.
    attention_entropy : for every layer, where 1 is uniform attention; None for layers without attention.
    tables : what its task alone has to show.
    certificate : bounds, certified radii and attacks, where they were asked for.
    """

    dataset: str
    metric: str
    scores: dict[str, float | None]
    official: dict[str, float | None] | None
    classes: list[dict[str, Any]] | None
    confusion: np.ndarray | None
    attention_entropy: list[float | None] | None
    tables: dict[str, FurtherTable]
    certificate: Certificate | None = None

    @property
    def test_score(self) -> float | None:
        """The score of the test part."""
        return self.scores["test"]

    def to_pandas(self) -> pandas.DataFrame:
        """The table by class, or the scores by part where there are no classes."""
        import pandas

        if self.classes is None:
            return pandas.DataFrame({"part": list(self.scores), self.metric: list(self.scores.values())})
        return pandas.DataFrame(self.classes)

    def __repr__(self) -> str:
        scores = ", ".join(f"{part} {'–' if score is None else f'{score:.4f}'}" for part, score in self.scores.items())
        return f"<Evaluation on {self.dataset}: {METRICS[self.metric].words} {scores}>"

    def _repr_html_(self) -> str:
        words = METRICS[self.metric].words
        parts = [facts_html(f"{words} on {self.dataset}", self.scores.items())]
        if self.certificate is not None:
            parts.append(facts_html("certificate", [("verdict", self.certificate.verdict)]))
        if self.classes:
            parts.append(rows_html(list(self.classes[0]), (row.values() for row in self.classes), "test part"))
        return "".join(parts)


def evaluate(
    run: Any,
    data: Any = None,
    *,
    split: str | None = None,
    rotations: bool = False,
    certify: bool = False,
    device: str = "auto",
    results: Place | None = None,
) -> Evaluation:
    """Score a trained model.

    Parameters
    ----------
    run : a `Run` or `Model`; the id of a run, the start of one, its name, or its folder; or a model file.
    data : other data of the same shape, in any form that `train` takes; by default what the model was trained on.
    split : another split than the one it was trained on.
    rotations : add the tables of images that are turned and mirrored.
    certify : certify the test nodes, too, and check that by attack.
    device : auto, cpu, cuda or cuda:K.
    results : the store that ids are looked for in.

    Raises
    ------
    DataError : data that cannot be read, has another shape, or has changed since the training.
    UsageError : an unknown run, name or split.

    Examples
    --------
    >>> import lipgnn
    >>> run = lipgnn.train("planted", layers=2, epochs=3)
    >>> lipgnn.evaluate(run).test_score == run.test_score
    True
    """
    model = load(run.any_model if isinstance(run, Run) else run, results=results)
    given = model.data if data is None else as_data(data)
    dataset = data_for_model(model.saved, given, split)

    from lipgnn.evaluate import evaluate as evaluate_saved
    from lipgnn.runtime import choose_device

    chosen = choose_device(device)[0]
    found = evaluate_saved(model.saved, dataset, chosen, rotations=rotations)
    return Evaluation(
        dataset.name,
        found.metric,
        found.accuracy,
        found.official,
        found.classes,
        None if found.confusion is None else np.array(found.confusion),
        found.attention_entropy,
        found.tables,
        _certificate(model.saved, dataset, chosen) if certify else None,
    )


def _certificate(saved: SavedModel, dataset: TaskData, device: torch.device) -> Certificate:
    from lipgnn.certify import certify

    return certify(saved, dataset, device)
