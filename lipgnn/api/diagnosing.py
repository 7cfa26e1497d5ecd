"""`lipgnn.diagnose`: what depth does to a network, layer by layer, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lipgnn.api.display import facts_html, rows_html, shown
from lipgnn.api.libraries import as_data
from lipgnn.api.model import load
from lipgnn.api.places import Place, data_for_model, data_of, options_of, resolved
from lipgnn.api.run import Run
from lipgnn.errors import UsageError

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

    from lipgnn.diagnose.diagnosis import Diagnosis as Found
    from lipgnn.diagnose.subject import Subject

# Nodes whose outputs are looked at for how far the network looks, where no number is given.
TARGETS = 16
# What a notebook shows of every layer.
_SHOWN = ("layer", "grad_norm", "weight_grad", "feat_norm", "mad", "effective_rank", "rank1_residual", "entropy")


class Diagnosis:
    """What was found in a network, and what it means.

    Attributes
    ----------
    found : the diagnosis as the rest of the library has it.
    """

    def __init__(self, found: Found):
        self.found = found
        self._values = found.to_dict()

    @property
    def verdict(self) -> str:
        """One word, such as "healthy" or "vanishing"."""
        return self.found.verdict.name

    @property
    def words(self) -> str:
        """All that was found, and from which layer on."""
        return self.found.verdict.words

    @property
    def evidence(self) -> tuple[str, ...]:
        """Why: a sentence each."""
        return tuple(self.found.verdict.evidence)

    @property
    def options(self) -> list[dict[str, Any]]:
        """What is worth trying: `option` in words, `values` to give to `train`, and `why`."""
        return [{"option": o.words, "values": dict(o.values), "why": o.why} for o in self.found.verdict.options]

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values: the object of `lipgnn diagnose --json`."""
        return self._values

    def to_pandas(self) -> pandas.DataFrame:
        """A row for every layer: gradients, features, similarity, rank, attention, bounds."""
        import pandas

        return pandas.DataFrame(self._values["layers"])

    def figure(self) -> Figure:
        """The layers, or how far the network looks where `reach` was asked for, as a figure of matplotlib."""
        from lipgnn.report.figures.layers import layers_sheet
        from lipgnn.report.figures.reach import reach_sheet

        if "reach" in self._values:
            return shown(reach_sheet(self._values["reach"]["distances"], self._title))
        return shown(layers_sheet(self._values["layers"], self._title))

    @property
    def _title(self) -> str:
        spec = self.found.subject.spec
        return f"{spec.model}, {spec.layers} layers, {spec.dataset}, at {self.found.subject.at}"

    def __repr__(self) -> str:
        return f"<Diagnosis: {self.words}; {self._title}>"

    def _repr_html_(self) -> str:
        facts = [("verdict", self.words), *(("because", sentence) for sentence in self.evidence)]
        facts += [("try", f"{one['option']}: {one['why']}") for one in self.options]
        rows = self._values["layers"]
        names = [name for name in _SHOWN if any(row.get(name) is not None for row in rows)]
        return facts_html(self._title, facts) + rows_html(names, ([row[name] for name in names] for row in rows))


def diagnose(
    run: Any = None,
    data: Any = None,
    *,
    init: bool | str = False,
    ablate: str | Sequence[str] = (),
    paths: int | None = None,
    path_length: int | None = None,
    reach: int | bool | None = None,
    certify: bool = False,
    every_layer: bool = False,
    device: str = "auto",
    results: Place | None = None,
    preset: str | None = None,
    config: Place | None = None,
    **options: Any,
) -> Diagnosis:
    """Look at a network layer by layer, and judge it.

    Parameters
    ----------
    run : a `Run` or `Model`, an id or a file; None looks at a new network, which `options` describe as for `train`.
    data : what to look at it on, in any form that `train` takes; by default what the model was trained on.
    init : look at the network of a run as it was before its training; for a new one also how its maps start, by name.
    ablate : parts to switch off and compare without: skip, mlp, norm.
    paths, path_length : split the output by the length of its paths, and show so many single ones of this length.
    reach : find how far the outputs of so many nodes look; True takes 16.
    certify : measure how much every layer really stretches, which takes longer.
    every_layer : measure every layer of a deep network.
    device, results, preset, config, options : as in `train`.

    Raises
    ------
    UsageError : an unknown run or option, or options of a run that has its own.
    DataError : a model or data that cannot be read.

    Examples
    --------
    >>> import lipgnn
    >>> lipgnn.diagnose(data="planted", layers=32, residual="identity", norm="none").verdict != "healthy"
    True
    """
    subject = _subject(run, data, init, results, options_of(options), {"preset": preset, "config": config})

    from lipgnn.diagnose.diagnosis import diagnose as look

    without = [part.strip() for part in ablate.split(",")] if isinstance(ablate, str) else list(ablate)
    wishes = {"certify": certify, "every_layer": every_layer, "without": [part for part in without if part]}
    targets = TARGETS if reach is True else reach or None
    return Diagnosis(look(subject, device, **wishes, paths=paths, path_length=path_length, targets=targets))


def _subject(
    run: Any, data: Any, init: bool | str, results: Place | None, options: dict[str, Any], further: dict[str, Any]
) -> Subject:
    from lipgnn.diagnose.subject import INITIAL, Subject, first_network, state_of

    given = None if data is None else as_data(data)
    if run is None:
        own = {**options, **({"init": init} if isinstance(init, str) else {})}
        spec = resolved(given, own, **further)
        dataset = data_of(spec, given)
        return Subject(first_network(spec, dataset), spec, dataset, None, INITIAL)
    if refused := [name for name, value in {**options, **further}.items() if value is not None]:
        raise UsageError(f"A run has its own {refused[0]}.", "Leave it out, or leave out the run for a new network.")
    model = load(run.any_model if isinstance(run, Run) else run, results=results)
    dataset = data_for_model(model.saved, model.data if given is None else given)
    if init:
        return Subject(first_network(model.spec, dataset), model.spec, dataset, model.path, INITIAL)
    return Subject(model.network, model.spec, dataset, model.path, state_of(model.path))
