"""`lipgnn.train`: one run, from options to a stored result, as on the command line. torch is imported when it runs."""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lipgnn.api.display import StatusLine
from lipgnn.api.libraries import as_data
from lipgnn.api.model import Model
from lipgnn.api.places import Place, data_of, resolved, store_at
from lipgnn.api.run import Run
from lipgnn.catalog import cautions
from lipgnn.datasets import Source
from lipgnn.errors import UsageError
from lipgnn.files import ensure_writable
from lipgnn.results.labels import add_labels, check_labels
from lipgnn.results.store import Store

if TYPE_CHECKING:
    from lipgnn.training.selection import Epoch


def train(
    data: Any = None,
    *,
    results: Place | None = None,
    preset: str | None = None,
    config: Place | None = None,
    start_from: Run | Model | Place | None = None,
    record: str | Collection[str] = (),
    log: str | Collection[str] = (),
    name: str | None = None,
    tags: str | Collection[str] = (),
    save_every: int = 10,
    force: bool = False,
    progress: bool | None = None,
    on_epoch: Callable[[Epoch], None] | None = None,
    **options: Any,
) -> Run:
    """Train one network and store the result; the same call again gives the stored one, or goes on where it stopped.

    With more epochs it goes on where the shorter run ended, if nothing in that run depended on its length.

    Parameters
    ----------
    data : the name or path of a data set; a data set of `from_arrays` and its like; or a graph of DGL, PyTorch
        Geometric or networkx. By default what the command line takes, Cora. Data in memory is known as `memory:NAME`,
        and its fingerprint is part of the run's id: give the same data again, and the run goes on.
    results : the store; by default LIPGNN_RESULTS, or the folder `results` where Python works.
    preset, config : values that suit the depth, and a TOML file, as on the command line.
    start_from : a run or model to start from the weights of, whose options hold where no others are given (--from).
    record : what to keep for figures: "gradients", "similarity" and so on.
    log : trackers that the run is logged by: "tensorboard", "mlflow" and so on (`lipgnn guide trackers`).
    name, tags : what to call the run, and labels to find it by, as on the command line.
    save_every : epochs between checkpoints.
    force : compute the run anew even if it is stored.
    progress : show a line that tells how far it is; None shows it at a terminal and in a notebook.
    on_epoch : called with every epoch that was evaluated.
    options : any option of `lipgnn train`, with underscores: `layers=30`, `norm="lip"`, `weight_decay=0.001`, …

    Returns
    -------
    the finished run. One that diverged is finished, too: its `status` says so.

    Raises
    ------
    UsageError : an unknown option, a wrong value, or a store that cannot be written to.
    DataError : data that is missing or damaged.
    RunFailed : the run could not be computed.

    Examples
    --------
    >>> import lipgnn
    >>> run = lipgnn.train("planted", layers=4, norm="lip", epochs=5)
    >>> run.status, 0 <= run.test_score <= 1
    ('done', True)
    """
    own = getattr(start_from, "data", None) if "dataset" not in options else None
    labels = {"name": name, "tags": _texts(tags)}
    check_labels(**labels)
    given, store = own if data is None else as_data(data), store_at(results)
    model, base = _start(start_from, store, preset, options)
    spec = resolved(given, options, preset=preset, config=config, base=base)
    _warn(cautions([spec.dataset]))
    dataset = data_of(spec, given)

    from lipgnn.tasks import remarks_on
    from lipgnn.tasks.typed import unused_types
    from lipgnn.trackers import train as events_of
    from lipgnn.training.events import Finished, Started

    _warn([*remarks_on(dataset), *([caution] if (caution := unused_types(spec, dataset)) else [])])
    ensure_writable(store.root)
    orders = {"force": force, "record": _texts(record), "model": model, "save_every": save_every}
    orders |= {"log": _texts(log), "warn": lambda sentence: _warn([sentence]), "lengthened": True}
    with StatusLine(progress) as line, contextlib.closing(events_of(spec, dataset, store, **orders)) as events:
        for event in events:
            if isinstance(event, Finished):
                result = event.result
                add_labels(store.run(result["run_id"]).path, **labels)
            elif isinstance(event, Started):
                add_labels(store.run(event.run_id).path, **labels)
                epochs = event.spec.own_epochs
                told = f"Run {event.run_id}: {event.parameters:,} parameters, {event.device}"
                line.say(f"{told}, features {event.spec.features}", at_once=True)
            else:
                share = event.epoch / epochs if epochs else 1.0
                line.say(_told(event, epochs), share=share, at_once=event.epoch == epochs)
                if on_epoch is not None:
                    on_epoch(event)
    return Run(store.run(result["run_id"]), given if isinstance(given, Source) else None)


def _start(
    start: Run | Model | Place | None, store: Store, preset: str | None, options: dict[str, Any]
) -> tuple[Path | None, Any]:
    """The file of the model to start from, and the options of the run that goes on from it."""
    if start is None:
        return None, None
    for name, value in (("start", options.get("start")), ("preset", preset)):
        if value is not None:
            raise UsageError(f"start_from says where a run starts, and {name}={value!r} another.", "Give one of them.")
    source = start.model if isinstance(start, Run) else start
    path = source.path if isinstance(source, Model) else store.find_model(os.fspath(source))

    from lipgnn.tasks.saved import options_from

    return path, options_from(path)


def _texts(texts: str | Collection[str]) -> tuple[str, ...]:
    return (texts,) if isinstance(texts, str) else tuple(texts)


def _warn(sentences: Collection[str]) -> None:
    for sentence in sentences:
        warnings.warn(sentence, stacklevel=3)


def _told(event: Epoch, epochs: int) -> str:
    return (
        f"epoch {event.epoch}/{epochs}  loss {event.train_loss:.4f}  train {event.train_score:.3f}  "
        f"val {event.val_score:.3f}"
    )
