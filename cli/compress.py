"""`lipgnn compress`: a trained Graph Transformer with queries and keys that its heads share."""

from __future__ import annotations

import shlex
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cli import console
from cli.completion import complete_runs
from cli.compress_view import as_dict, show_curve, show_one, to_csv
from cli.options import debug_option, device_option, json_option, model_file, results_option, results_words
from cli.outputs import OutputFile
from cli.progress import LayerProgress
from cli.train import follow
from lipgnn.errors import UsageError
from lipgnn.files import sha256, write_atomic
from lipgnn.results.store import Store
from lipgnn.spec.start import model_start

if TYPE_CHECKING:
    from lipgnn.compress.curve import Curve
    from lipgnn.tasks import TaskData
    from lipgnn.tasks.saved import SavedModel

EPILOG = """\b
Examples:
  lipgnn compress 3f2a --shared-dim 32
  lipgnn compress 3f2a --shared-dim 8,16,32,48,64 --csv curve.csv
  lipgnn compress 3f2a --max-error 0.05 --fit data -o small.safetensors
  lipgnn compress 3f2a --shared-dim 16 --finetune 50 -o small.safetensors
  lipgnn evaluate small.safetensors
"""


@click.command("compress", epilog=EPILOG)
@click.argument("model", metavar="RUN|FILE", shell_complete=complete_runs)
@click.option(
    "--shared-dim",
    "widths",
    metavar="D,…",
    help="Let heads share queries and keys of this width, at most heads × hidden, where it is exact. Several widths "
    "show score against size.",
)
@click.option(
    "--max-error",
    type=float,
    metavar="X",
    help="Take the least width at which the relative error of no layer is above X.",
)
@click.option(
    "--fit",
    type=click.Choice(("weights", "data")),
    default="weights",
    show_default=True,
    help="Keep as much as possible of the weights of queries and keys, or of the scores that they give on the data.",
)
@click.option(
    "--finetune",
    type=click.IntRange(min=1),
    metavar="EPOCHS",
    help="Go on training the compressed network, as it was trained before, for at most this many epochs.",
)
@click.option("-o", "--output", type=OutputFile(), metavar="FILE", help="Write the compressed model into this file.")
@click.option("--dataset", metavar="NAME", help="Measure on another data set of the same shape.")
@click.option("--csv", "table", type=OutputFile(), metavar="FILE", help="Write score against size into this file.")
@device_option
@results_option
@json_option
@debug_option
def command(
    model: str,
    widths: str | None,
    max_error: float | None,
    fit: str,
    finetune: int | None,
    output: Path | None,
    dataset: str | None,
    table: Path | None,
    device: str,
    results: Path,
    as_json: bool,
) -> int:
    """Make a trained Graph Transformer smaller.

    Its heads then share one projection of queries and one of keys, each in a mixture of its own. It shows what every
    layer loses by that, and the score and size of the model before and after. RUN is a run's id, the start of one,
    its name, or its folder; FILE is a saved model such as best.safetensors.
    """
    asked = _asked_widths(widths, max_error)
    if len(asked) > 1:
        _check_single(widths, {"-o": output, "--finetune": finetune})
    path = model_file(model, results)
    if output and output.exists() and output.samefile(path):
        raise UsageError(f"{str(output)!r} is the model that is to be compressed.", "Choose another file for -o.")

    from lipgnn.evaluate import data_for
    from lipgnn.runtime import choose_device
    from lipgnn.tasks.saved import load_model

    saved = load_model(path)
    _check_widths(asked, saved)
    data, (chosen, _) = data_for(saved, dataset), choose_device(device)
    found = _curve(saved, data, chosen, widths=asked, max_error=max_error or 0.0, fit=fit, quiet=as_json)
    trained = _finetuned(found, data, Store(results), finetune, quiet=as_json) if finetune else None
    _write(found, trained, Store(results), output, table)
    shown = {"model": str(path), "dataset": data.name, "fingerprint": data.fingerprint, "device": str(chosen)}
    if as_json:
        console.print_json({**shown, **as_dict(found), "finetuned": trained, "output": output and str(output)})
        return 0
    show_one(shown, found, trained) if len(found.effects) == 1 else show_curve(shown, found)
    for written in filter(None, (output, table)):
        console.note(f"Written: {written}")
    console.print_next(*_next(model, found, output, results, finetune=finetune, dataset=dataset, device=device))
    return 0


def _asked_widths(widths: str | None, max_error: float | None) -> list[int]:
    """The widths that are asked for, from the least on; none where an error is."""
    if (widths is None) == (max_error is None):
        raise UsageError(
            f"compress needs either --shared-dim or --max-error, got {'neither' if widths is None else 'both'}.",
            "For example: --shared-dim 32",
        )
    if widths is None:
        if not 0 < max_error < 1:
            raise UsageError(f"--max-error must be between 0 and 1, got {max_error}.", "For example: --max-error 0.05")
        return []
    words = [word.strip() for word in widths.split(",")]
    if not all(word.isascii() and word.isdecimal() and int(word[:9]) > 0 and len(word) < 10 for word in words):
        raise UsageError(
            f"--shared-dim must be a positive whole number, or several between commas, got {widths[:80]!r}.",
            "For example: --shared-dim 8,16,32",
        )
    return sorted({int(word) for word in words})


def _check_single(widths: str, options: dict[str, Any]) -> None:
    """Refuse options that are about one model where several widths are asked for."""
    for option in (name for name, given in options.items() if given):
        raise UsageError(
            f"{option} takes the model of one width, got several: {widths}.", f"Leave {option} out, or choose one."
        )


def _check_widths(widths: list[int], saved: SavedModel) -> None:
    from lipgnn.compress import check_compressible

    check_compressible(saved)
    full = saved.spec.width
    if widths and widths[-1] > full:
        raise UsageError(
            f"--shared-dim must be at most heads × hidden = {full} of this model, got {widths[-1]}.",
            f"At {full} nothing is lost, and below that the model gets smaller.",
        )


def _curve(*what: Any, quiet: bool, **options: Any) -> Curve:
    """Score against size, with a bar over layers on the way."""
    from lipgnn.compress.curve import curve

    with LayerProgress(shown=not quiet) as bar:
        return curve(*what, **options, progress=lambda done, total, width: bar(done, total, f"width {width}"))


def _finetuned(found: Curve, data: TaskData, store: Store, epochs: int, *, quiet: bool) -> dict[str, Any]:
    """The result of a run that starts from the compressed model: the same compression again is the same run."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "compressed.safetensors"
        _save(found, path)
        start = model_start(sha256(path.read_bytes()))
        spec = found.compressions[0].model.spec.with_values(dataset=data.name, start=start, epochs=epochs)
        return follow(spec, data, store, {"model": path}, quiet=quiet)


def _save(found: Curve, path: Path) -> None:
    """Write the model of the first width."""
    from lipgnn.tasks.saved import save_model

    small = found.compressions[0].model
    weights = {name: weight.cpu() for name, weight in small.network.state_dict().items()}
    save_model(path, weights, spec=small.spec, dataset=small)


def _write(found: Curve, trained: dict[str, Any] | None, store: Store, output: Path | None, table: Path | None) -> None:
    if output and trained:
        write_atomic(output, store.run(trained["run_id"]).best_path.read_bytes())
    elif output:
        _save(found, output)
    if table:
        write_atomic(table, to_csv(found))


def _next(model: str, found: Curve, output: Path | None, results: Path, **options: Any) -> list[str]:
    """What is worth typing next: commands for the model that was written, or the one that writes what was shown."""
    if output:
        return [shlex.join(["lipgnn", verb, str(output)]) for verb in ("evaluate", "diagnose")]
    width = found.advised
    words = ["lipgnn", "compress", model, "--shared-dim", str(width), "-o", f"shared-{width}.safetensors"]
    words += ["--fit", found.fit] if found.fit != "weights" else []
    given = ((name, value) for name, value in options.items() if value not in (None, "auto"))
    words += [word for name, value in given for word in (f"--{name}", str(value))]
    return [shlex.join([*words, *results_words(results)])]
