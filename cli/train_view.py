"""How `lipgnn train` shows a run: what begins, how it goes, and what came of it."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cli import console
from cli.options import results_words
from lipgnn.catalog import MODELS, task_of
from lipgnn.diagnose.course import divergence_words, options_after
from lipgnn.results.store import LAST_GOOD
from lipgnn.spec.run import FIELDS, RunSpec
from lipgnn.spec.sources import Resolved, as_typed, command_for

if TYPE_CHECKING:
    from lipgnn.training.events import Started
    from lipgnn.training.memory import MemoryPlan
    from lipgnn.training.selection import Epoch


def announce(event: Started) -> None:
    """Say what begins, and what a reader should know of it."""
    console.note(_opening(event))
    for text in filter(None, (event.shorter, event.note, event.slower, event.caution)):
        console.note(f"Note: {text}")
    if event.memory.notable:
        console.note(_expected_memory(event.memory))


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


def status(event: Epoch, epochs: int) -> str:
    """An epoch in one line, what matters most first: where there is no room, the last parts are left out."""
    return (
        f"epoch {event.epoch:>{len(str(epochs))}}/{epochs}  loss {event.train_loss:.4f}  "
        f"val {event.val_score:.3f}  train {event.train_score:.3f}  grad {event.grad_norm:.2g}"
    )


def show_sources(resolved: Resolved) -> None:
    """Every value of a run, and where it came from."""
    for name, value in resolved.spec.to_dict().items():
        console.note(f"{name} = {value}  ({resolved.sources[name]})")


def summarize(result: dict[str, Any], metric: str, results: Path) -> None:
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
        ("seconds", f"{result['seconds']:.1f}" + (f", {per_epoch:.3f} per epoch" if per_epoch else "")),
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
    spec = as_typed(RunSpec.from_mapping({name: result[name] for name in FIELDS}))
    if done:
        other = spec.with_values(norm="none" if spec.norm != "none" or MODELS[spec.model].attention is None else "lip")
        words = [["lipgnn", "evaluate", result["run_id"]], task_of(spec.dataset).next_words(result["run_id"])]
        console.print_next(*(shlex.join([*each, *store]) for each in words if each), command_for(other, *store))
    else:
        console.note(divergence_words(result))
        words = ["lipgnn", "diagnose", result["run_id"], "--at", LAST_GOOD]
        console.print_next(shlex.join([*words, *store]), *_after_divergence(result, spec, store))


def _after_divergence(result: dict[str, Any], spec: RunSpec, store: list[str]) -> list[str]:
    """The run with what is worth trying, and the same from the best of its epochs, where there were some to choose."""
    options = options_after(result, RunSpec.from_mapping({name: result[name] for name in FIELDS}))[:1]
    commands = [command_for(spec.with_values(**option.values), *store) for option in options]
    if options and result["epochs_run"] > 1:
        words = ["lipgnn", "train", "--from", result["run_id"], *shlex.split(options[0].words)]
        commands.append(shlex.join([*words, *store]))
    return commands
