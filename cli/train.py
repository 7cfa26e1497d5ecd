"""`lipgnn train`: one run, from the options to a stored result."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cli import console
from cli.options import (
    GroupedCommand,
    config_option,
    debug_option,
    json_option,
    preset_option,
    results_option,
    results_words,
    spec_options,
)
from cli.progress import EpochProgress
from cli.signals import StopRequest
from lipgnn.catalog import METRICS, MODELS, cautions, task_of
from lipgnn.errors import UsageError
from lipgnn.files import sha256
from lipgnn.results.recordings import RECORDS
from lipgnn.results.store import Store
from lipgnn.spec.learning import learning_cautions
from lipgnn.spec.run import FIELDS, HOW, RunSpec
from lipgnn.spec.sources import Resolved, command_for, resolve, unknown_variables
from lipgnn.spec.start import model_start
from lipgnn.training.distributed.surroundings import find_place

if TYPE_CHECKING:
    from lipgnn.tasks import TaskData
    from lipgnn.training.events import Started
    from lipgnn.training.memory import MemoryPlan
    from lipgnn.training.selection import Epoch

EPILOG = """\b
Examples:
  lipgnn train --layers 30 --norm lip
  lipgnn train --dataset pubmed --missing 1 --layers 15 --norm lip+layer --seed 3
  lipgnn train --layers 25 --norm none --record gradients
  lipgnn train --dataset ogbn-arxiv --layers 10 --norm lip --batch-size 1024
  lipgnn train --dataset trees:4 --model gat --norm lip --kappa 0.25
  lipgnn train --layers 128 --preset deep
  lipgnn train --from 3f2a --epochs 50 --lr 0.001
  lipgnn train --config run.toml --lr 0.002
  lipgnn train --print-config > run.toml

The same command again prints the stored result, or goes on where it was interrupted.
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
@results_option
@click.option("--print-config", is_flag=True, help="Print the complete run as TOML, with the source of each value.")
@click.option(
    "--save-every",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    metavar="N",
    help="Write a checkpoint after so many epochs.",
)
@click.option(
    "--record", type=click.Choice(list(RECORDS)), multiple=True, help="Keep these numbers of the run, for figures."
)
@click.option("--force", is_flag=True, help="Compute the run anew even if it is stored.")
@json_option
@click.option("-q", "--quiet", is_flag=True, help="Show no progress, only the result.")
@click.option("-v", "--verbose", is_flag=True, help="Show a line for every epoch, and where each value came from.")
@debug_option
def command(
    config: Path | None,
    preset: str | None,
    source: str | None,
    results: Path,
    print_config: bool,
    save_every: int,
    record: tuple[str, ...],
    force: bool,
    as_json: bool,
    quiet: bool,
    verbose: bool,
    **options: Any,
) -> int:
    """Train one network and store the result."""
    flags = {k: v for k, v in options.items() if v is not None}
    model, base = _starting_model(source, Store(results), flags, preset) if source else (None, None)
    resolved = resolve(flags, os.environ, config, preset, base)
    for variable in unknown_variables(os.environ):
        console.note(f"Note: {variable} is not a variable of lipgnn and was ignored.")
    if print_config:
        click.echo(resolved.to_toml(), nl=False)
        return 0
    orders = {"save_every": save_every, "record": record, "force": force, "model": model}
    place = find_place(os.environ)
    if place and place.rank:
        return _take_part(resolved.spec, Store(results), orders)
    if verbose:
        _show_sources(resolved)
    result = _run(resolved, Store(results), orders, quiet=quiet, verbose=verbose)
    if as_json:
        console.print_json(result)
    else:
        _summarize(result, METRICS[result["metric"]].words, results)
    return 0 if result["status"] == "done" else 1


def _starting_model(
    reference: str, store: Store, flags: dict[str, Any], preset: str | None
) -> tuple[Path, tuple[dict[str, Any], str]]:
    """The file of the model to start from, and the options of the run that goes on from it."""
    for name, value in (("start", flags.get("start")), ("preset", preset)):
        if value is not None:
            raise UsageError(f"--from says where a run starts, and --{name} {value} says another.", "Give one of them.")
    path = store.find_model(reference)

    from lipgnn.tasks.saved import load_model

    values = load_model(path).spec.to_dict()
    kept = {name: value for name, value in values.items() if value is not None and name not in (*HOW, "finetune")}
    return path, ({**kept, "start": model_start(sha256(path.read_bytes()))}, f"model {path}")


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


def _run(resolved: Resolved, store: Store, orders: dict[str, Any], *, quiet: bool, verbose: bool) -> dict[str, Any]:
    """Train with progress on stderr; returns the result."""
    from lipgnn.tasks import load
    from lipgnn.tasks.typed import unused_types

    spec = resolved.spec
    for caution in () if quiet else (*cautions([spec.dataset]), *learning_cautions(spec)):
        console.note(f"Note: {caution}")
    dataset = load(spec.dataset, split=spec.split, missing=spec.missing, features=spec.features)
    if not quiet and (caution := unused_types(spec, dataset)):
        console.note(f"Note: {caution}")
    return follow(spec, dataset, store, orders, quiet=quiet, verbose=verbose)


def follow(
    spec: RunSpec, dataset: TaskData, store: Store, orders: dict[str, Any], *, quiet: bool, verbose: bool = False
) -> dict[str, Any]:
    """The result of a run, which is told of on the way.

    Parameters
    ----------
    orders : further arguments of `lipgnn.training.loop.train`.
    """
    from lipgnn.files import ensure_writable

    ensure_writable(store.root)

    from lipgnn.training.events import Finished, Started
    from lipgnn.training.loop import train

    ran = False
    with StopRequest() as stop, EpochProgress(quiet=quiet, every_epoch=verbose) as progress:
        for event in train(spec, dataset, store, **orders, should_stop=stop):
            if isinstance(event, Finished):
                result = event.result
            elif isinstance(event, Started):
                ran = True
                progress.begin(event.spec.own_epochs)
                epochs = event.spec.own_epochs
                if not quiet:
                    console.note(_opening(event))
                    for text in filter(None, (event.note, event.caution)):
                        console.note(f"Note: {text}")
                    if event.memory.notable:
                        console.note(_expected_memory(event.memory))
            else:
                progress.update(event.epoch, _status(event, epochs))
    if not ran and not quiet:
        run = store.run(result["run_id"])
        missed = not all(run.recording_path(record).exists() for record in orders.get("record", ()))
        without, anew = (" and was computed without recording", " and records") if missed else ("", "")
        console.note(f"This run is already done{without}; its stored result follows (--force computes it anew{anew}).")
    return result


def _opening(event: Started) -> str:
    spec = event.spec
    going_on = f", going on after epoch {event.resumed_epoch}" if event.resumed_epoch else ""
    stack = _stack_words(spec.stack, str(event.memory.recompute_every))
    return (
        f"Run {event.run_id}: {spec.model} with {spec.layers} layers{stack}, norm {spec.norm}, on {spec.dataset}; "
        f"{event.parameters:,} parameters; {event.device} ({event.device_reason}), "
        f"kernel {event.kernel} ({event.kernel_reason}){going_on}"
    )


def _traffic(result: dict[str, Any]) -> list[tuple[str, str]]:
    """How many workers there were, and what they sent, where there is something to say of it."""
    if result.get("sent_mb") is None:
        return []
    share = result["sent_mb"] / result["dense_mb"] if result["dense_mb"] else 1.0
    sent = f"{result['sent_mb']:,.3g} MB, {share:.1%} of all gradients"
    return [("workers", str(result["workers"])), ("sent", sent)]


def _stack_words(stack: str, recompute_every: str) -> str:
    """How the layers are stacked, where that is not the usual way."""
    if stack != "plain":
        return f" ({stack} stack)"
    return "" if recompute_every in ("0", "auto") else f" (checkpoint every {recompute_every})"


def _expected_memory(memory: MemoryPlan) -> str:
    text = f"Expected peak memory {memory.peak / 2**30:.2f} GB; {memory.free / 2**30:.2f} GB are free"
    if memory.chosen:
        text += f", so --recompute-every {memory.recompute_every} is used"
    if not memory.fits:
        text += "; that may not be enough, and --stack reversible or a smaller --hidden would need less"
    return text + "."


def _status(event: Epoch, epochs: int) -> str:
    return (
        f"epoch {event.epoch:>{len(str(epochs))}}/{epochs}  loss {event.train_loss:.4f}  "
        f"train {event.train_score:.3f}  val {event.val_score:.3f}  grad {event.grad_norm:.2g}"
    )


def _show_sources(resolved: Resolved) -> None:
    for name, value in resolved.spec.to_dict().items():
        console.note(f"{name} = {value}  ({resolved.sources[name]})")


def _summarize(result: dict[str, Any], metric: str, results: Path) -> None:
    """The closing panel: what came out, and what to type next; `metric` says what the columns called acc hold."""
    done = result["status"] == "done"
    accuracies = [
        (label, console.DASH if result[key] is None else f"{result[key]:.3f}")
        for label, key in (
            (f"test {metric}", "test_score"),
            (f"validation {metric}", "val_score"),
            (f"training {metric}", "train_score"),
            (f"test {metric}, last epoch", "last_test_score"),
        )
    ]
    per_epoch = result["seconds_per_epoch"]
    facts = [
        *accuracies,
        ("best epoch", f"{console.cell(result['best_epoch'])} of {result['epochs_run']}, by {result['select']}"),
        ("seconds", f"{result['seconds']:.1f}" + (f", {per_epoch:.3f} an epoch" if per_epoch else "")),
        ("parameters", f"{result['parameters']:,}"),
        ("kernel", result["kernel"]),
        ("peak memory", f"{result['peak_memory_mb']:,.0f} MB"),
        ("largest gradient", f"{result['max_grad_norm']:.3g}"),
        *_traffic(result),
        ("run", result["run_id"]),
        ("results", str(results / "results.csv")),
    ]
    if not done:
        facts.insert(0, ("diverged", f"not finite: {result['diverged_at']}; the last good state is kept"))
    stack = _stack_words(result["stack"], result["recompute_every"])
    title = f"{result['model']}, {result['layers']} layers{stack}, norm {result['norm']}, {result['dataset']}"
    console.print_panel(title, facts, good=done)
    store = results_words(results)
    spec = RunSpec.from_mapping({name: result[name] for name in FIELDS})
    if done:
        other = spec.with_values(norm="none" if spec.norm != "none" or MODELS[spec.model].attention is None else "lip")
        words = [["lipgnn", "evaluate", result["run_id"]], task_of(spec.dataset).next_words(result["run_id"])]
        console.print_next(*(shlex.join([*each, *store]) for each in words if each), command_for(other, *store))
    else:
        console.print_next(command_for(spec.with_values(lr=spec.lr / 5), *store))
