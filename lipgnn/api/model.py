"""Trained models: loaded from a run or a file, asked about graphs. torch is imported when one is loaded."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lipgnn.api.display import facts_html
from lipgnn.api.libraries import as_data
from lipgnn.api.places import Place, data_of, store_at
from lipgnn.api.run import Run
from lipgnn.datasets import Source
from lipgnn.errors import UsageError

if TYPE_CHECKING:
    from lipgnn.network.deep import DeepGNN
    from lipgnn.predict.prediction import Prediction
    from lipgnn.spec.run import RunSpec
    from lipgnn.tasks.saved import SavedModel


class Model:
    """A trained network with all that is needed to use it.

    Attributes
    ----------
    path : the file it comes from.
    data : the data that it was trained on, where that was given from Python; None where a name leads to it.
    """

    def __init__(self, path: Path, data: Source | None = None):
        from lipgnn.tasks.saved import load_model

        self.path, self.data = Path(path), data
        self._saved = load_model(self.path)

    @property
    def saved(self) -> SavedModel:
        """The model as the rest of the library has it."""
        return self._saved

    @property
    def network(self) -> DeepGNN:
        """The `torch.nn.Module`: `network(graph, features)` gives logits; it is in evaluation mode."""
        return self._saved.network

    @property
    def spec(self) -> RunSpec:
        """The run that it comes from."""
        return self._saved.spec

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes or labels that it tells apart, which are numbers where none are known."""
        return self._saved.class_names or tuple(str(k) for k in range(self._saved.shape[1]))

    @property
    def num_features(self) -> int:
        """How many features a node has."""
        return self._saved.shape[0]

    @property
    def num_parameters(self) -> int:
        """How many weights it has."""
        return sum(tensor.numel() for tensor in self.network.parameters())

    def predict(
        self,
        graph: Any = None,
        features: Any = None,
        *,
        batch_size: int = 0,
        certify: bool = False,
        device: str = "auto",
    ) -> Prediction:
        """The probabilities of all classes for every node of a graph.

        Parameters
        ----------
        graph : a name or path, a data set of `from_arrays` and its like, a graph of DGL, PyTorch Geometric or networkx,
            a SciPy sparse matrix, or edges as an array; by default the data that the model was trained on. It needs no
            labels and no split.
        features : (N, F), in place of those that the graph brings along; in the order of the training.
        batch_size : compute so many nodes at a time, where a graph does not fit into memory; 0 is all at once.
        certify : find the certified radius of every node, too.
        device : auto, cpu, cuda or cuda:K.

        Returns
        -------
        an object that can be used as the (N, C) array of probabilities, with `to_pandas`, `predicted`, `margin` and
        `radius` (see `lipgnn.predict.prediction.Prediction`).

        Raises
        ------
        DataError : data that cannot be read or does not fit the model.
        UsageError : what cannot be asked of this model.

        Examples
        --------
        >>> import lipgnn
        >>> run = lipgnn.train("planted", layers=2, epochs=3)
        >>> run.model.predict("planted").probabilities.shape
        (400, 4)
        """
        from lipgnn.predict.inputs import data_to_predict, prepared_to_predict
        from lipgnn.predict.prediction import predict
        from lipgnn.runtime import choose_device

        if graph is None and features is not None:
            raise UsageError("Features are of the nodes of a graph, and there is none.", "Give the graph, too.")
        if graph is None and self.data is not None:
            data = data_of(self.spec, self.data)
        else:
            asked = None if graph is None else as_data(graph, features)
            own = isinstance(asked, Source)
            data = prepared_to_predict(self._saved, asked) if own else data_to_predict(self._saved, asked)
        return predict(self._saved, data, choose_device(device)[0], batch_size=batch_size, certify=certify)

    def export(self, folder: Place, *, results: Place | None = None, force: bool = False) -> dict[str, Path]:
        """Write a folder to hand on: weights, options, a model card and an example (see `lipgnn.export.export`)."""
        from lipgnn.export import export

        return export(store_at(results), os.fspath(self.path), Path(folder), force=force)

    def _facts(self) -> list[tuple[str, Any]]:
        spec = self.spec
        return [
            ("trained on", f"{spec.dataset}, split {spec.split} ({self._saved.fingerprint})"),
            ("features", self.num_features),
            ("classes", ", ".join(self.classes)),
            ("parameters", f"{self.num_parameters:,}"),
            ("file", str(self.path)),
        ]

    @property
    def _title(self) -> str:
        return f"{self.spec.model}, {self.spec.layers} layers, norm {self.spec.norm}"

    def __repr__(self) -> str:
        return f"<Model: {self._title}, trained on {self.spec.dataset}, {self.num_parameters:,} parameters>"

    def _repr_html_(self) -> str:
        return facts_html(self._title, self._facts())


def load(model: Any, *, results: Place | None = None) -> Model:
    """A trained model.

    Parameters
    ----------
    model : a `Run`; the id of a run, the start of one, its name, or its folder; or a file such as best.safetensors.
    results : the store that ids are looked for in; by default that of the command line.

    Raises
    ------
    UsageError : there is no such run, or ids of several start so.
    DataError : the run has no model yet, or the file is none.

    Examples
    --------
    >>> import lipgnn
    >>> run = lipgnn.train("planted", layers=2, epochs=3)
    >>> lipgnn.load(run.id).classes
    ('0', '1', '2', '3')
    """
    if isinstance(model, Model):
        return model
    if isinstance(model, Run):
        return model.model
    return Model(store_at(results).find_model(os.fspath(model)))


def predict(
    model: Any, graph: Any = None, features: Any = None, *, results: Place | None = None, **further: Any
) -> Prediction:
    """`load(model).predict(graph, features, …)`: the probabilities of all classes for every node of a graph.

    Parameters
    ----------
    model, results : as in `load`.
    graph, features, further : as in `Model.predict`, as are returns and errors.

    Examples
    --------
    >>> import lipgnn
    >>> run = lipgnn.train("planted", layers=2, epochs=3)
    >>> len(lipgnn.predict(run))
    400
    """
    return load(model, results=results).predict(graph, features, **further)
