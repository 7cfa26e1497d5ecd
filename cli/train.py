"""`lipgnn train`: one run, from the options to a stored result."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import click

from cli import console
from cli.options import (
    GroupedCommand,
    config_option,
    debug_option,
    json_option,
    log_option,
    preset_option,
    results_option,
    spec_options,
    state_option,
    tag_option,
)
from cli.progress import EpochProgress
from cli.signals import StopRequest
from cli.train_view import announce, show_sources, status, summarize
from lipgnn.catalog import AUTO_FORM, METRICS, cautions
from lipgnn.errors import UsageError
from lipgnn.results.labels import add_labels, check_labels
from lipgnn.results.recordings import RECORDS
from lipgnn.results.store import Store
from lipgnn.spec.learning import learning_cautions
from lipgnn.spec.run import RunSpec
from lipgnn.spec.sources import Resolved, resolve, unknown_variables
from lipgnn.training.distributed.surroundings import find_place

if TYPE_CHECKING:
    from lipgnn.tasks import TaskData

EPILOG = """\b
Examples:
  lipgnn train --layers 30 --norm lip
  lipgnn train --dataset pubmed --missing 1 --layers 15 --norm lip+layer --seed 3
  lipgnn train --layers 25 --norm none --record gradients
  lipgnn train --dataset ogbn-arxiv --layers 10 --norm lip --batch-size 1024
  lipgnn train --dataset trees:4 --model gat --norm lip --kappa 0.25
  lipgnn train --layers 128 --preset deep
  lipgnn train --from 3f2a --epochs 50 --lr 0.001
  lipgnn train --from 3f2a --at last-good --lr 0.001
  lipgnn train --config run.toml --lr 0.002
  lipgnn train --print-config > run.toml

The same command again prints the stored result, or goes on where it was interrupted. With more --epochs it goes on
where the shorter run ended, if nothing in that run depended on its length.
"""


@click.command("train", cls=GroupedCommand, described=True, epilog=EPILOG)
@preset_option
@spec_options
@config_option
@click.option(
    "--from",
    "source",
    metavar="RUN|FILE",
    help="Start from the weights of a saved model, and take its options where no others are given.",
)
@state_option
@click.option("--name", metavar="NAME", help="Give the run this name, by which other commands find it.")
@tag_option
@results_option
@click.option("--print-config", is_flag=True, help="Print the complete run as TOML, with the source of each value.")
@click.option(
    "--save-every",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    metavar="N",
    help="Write a checkpoint every N epochs.",
)
@click.option(
    "--record",
    type=click.Choice(list(RECORDS)),
    multiple=True,
    help="Record these numbers during the run, for figures.",
)
@log_option
@click.option("--force", is_flag=True, help="Compute the run again even if it is stored.")
@json_option
@click.option("-q", "--quiet", is_flag=True, help="Show no progress, only the result.")
@click.option("-v", "--verbose", is_flag=True, help="Show a line for every epoch, and where each value came from.")
@debug_option
def command(
    config: Path | None,
    preset: str | None,
    source: str | None,
    state: str | None,
    name: str | None,
    tags: tuple[str, ...],
    results: Path,
    print_config: bool,
    save_every: int,
    record: tuple[str, ...],
    log: tuple[str, ...],
    force: bool,
    as_json: bool,
    quiet: bool,
    verbose: bool,
    **options: Any,
) -> int:
    """Train one network and store the result."""
    labels = {"name": name, "tags": tags}
    check_labels(**labels)
    flags = {k: v for k, v in options.items() if v is not None}
    model, base = _starting_model(source, Store(results), flags, preset, state)
    if "dataset" in flags:
        from lipgnn.datasets.locate import settled

        flags["dataset"] = settled(flags["dataset"])
    resolved = resolve(flags, os.environ, config, preset, base)
    for variable in unknown_variables(os.environ):
        console.note(f"Note: {variable} is not a variable of lipgnn and was ignored.")
    if print_config:
        click.echo(resolved.to_toml(), nl=False)
        return 0
    orders = {"save_every": save_every, "record": record, "force": force, "model": model, "lengthened": True}
    place = find_place(os.environ)
    if place and place.rank:
        return _take_part(resolved.spec, Store(results), orders)
    if verbose:
        show_sources(resolved)
    result = _run(resolved, Store(results), {**orders, "log": log}, quiet=quiet, verbose=verbose, labels=labels)
    if as_json:
        console.print_json(result)
    else:
        summarize(result, METRICS[result["metric"]].words, results)
    return 0 if result["status"] == "done" else 1


def _starting_model(
    reference: str | None, store: Store, flags: dict[str, Any], preset: str | None, state: str | None
) -> tuple[Path | None, tuple[dict[str, Any], str] | None]:
    """The file of the model to start from, and the options of the run that goes on from it, if there is any."""
    if reference is None:
        if state:
            raise UsageError(f"--at {state} says from which state of a run to start.", "Add --from RUN.")
        return None, None
    for name, value in (("start", flags.get("start")), ("preset", preset)):
        if value is not None:
            raise UsageError(f"--from says where a run starts, and --{name} {value} says another.", "Give one of them.")
    path = store.find_model(reference, state)

    from lipgnn.tasks.saved import options_from

    return path, options_from(path)


def _take_part(spec: RunSpec, store: Store, orders: dict[str, Any]) -> int:
    """Compute as one of several workers, of which the first shows and stores all; returns its exit code."""
    from lipgnn.tasks import load
    from lipgnn.training.distributed.launch import Unanswered
    from lipgnn.training.loop import train

    dataset = load(spec.dataset, split=spec.split, missing=spec.missing, features=spec.features)
    with StopRequest(silent=True) as stop:
        try:
            (finished,) = train(spec, dataset, store, **orders, should_stop=stop)
        except Unanswered as error:
            # Whoever is gone has said why, or whoever started it.
            return error.exit_code
    return finished.result["exit_code"]


def _run(
    resolved: Resolved, store: Store, orders: dict[str, Any], *, quiet: bool, verbose: bool, labels: dict[str, Any]
) -> dict[str, Any]:
    """Train with progress on stderr; returns the result."""
    if not quiet:
        console.loading()

    from lipgnn.datasets.standard import form_words
    from lipgnn.tasks import load, remarks_on
    from lipgnn.tasks.typed import unused_types

    spec = resolved.spec
    for caution in () if quiet else (*cautions([spec.dataset]), *learning_cautions(spec)):
        console.note(f"Note: {caution}")
    dataset = load(spec.dataset, split=spec.split, missing=spec.missing, features=spec.features)
    for remark in () if quiet else remarks_on(dataset):
        console.note(f"Note: {remark}")
    if not quiet and spec.features == AUTO_FORM:
        console.note(form_words(dataset.form))
    if not quiet and (caution := unused_types(spec, dataset)):
        console.note(f"Note: {caution}")
    return follow(spec, dataset, store, orders, quiet=quiet, verbose=verbose, labels=labels)


def _warn(sentence: str) -> None:
    console.note(f"Warning: {sentence}")


def follow(
    spec: RunSpec,
    dataset: TaskData,
    store: Store,
    orders: dict[str, Any],
    *,
    quiet: bool,
    verbose: bool = False,
    labels: Mapping[str, Any] = MappingProxyType({}),
) -> dict[str, Any]:
    """The result of a run, which is told of on the way.

    Parameters
    ----------
    orders : further arguments of `lipgnn.trackers.train`.
    labels : name and tags of the run, which it has from its beginning on.
    """
    from lipgnn.files import ensure_writable

    ensure_writable(store.root)

    from lipgnn.trackers import train
    from lipgnn.training.events import Finished, Started

    ran = False
    with StopRequest() as stop, EpochProgress(quiet=quiet, every_epoch=verbose, stopping=stop) as progress:
        stop.silent = progress.live  # the bar says it, and would be drawn over a line
        for event in train(spec, dataset, store, **orders, warn=_warn, should_stop=stop):
            if isinstance(event, Finished):
                result = event.result
                add_labels(store.run(result["run_id"]).path, **labels)
            elif isinstance(event, Started):
                ran = True
                add_labels(store.run(event.run_id).path, **labels)
                progress.begin(event.spec.own_epochs)
                if not quiet:
                    announce(event)
            else:
                progress.update(event.epoch, status(event, progress.epochs))
    if not ran and not quiet:
        run = store.run(result["run_id"])
        missed = not all(run.recording_path(record).exists() for record in orders.get("record", ()))
        without, anew = (" and was computed without recording", " and records") if missed else ("", "")
        console.note(f"This run is already done{without}; its stored result follows (--force computes it anew{anew}).")
    return result
