"""A trained model as a folder to hand on: weights, options, a card that says what it is, and lines that use it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lipgnn
from lipgnn.catalog import METRICS, find_task
from lipgnn.errors import DataError, UsageError
from lipgnn.evaluate import data_for, evaluate
from lipgnn.files import ensure_writable, write_atomic
from lipgnn.results.run import Run
from lipgnn.results.store import Store
from lipgnn.runtime import choose_device
from lipgnn.spec.run import FIELDS, HOW, RunSpec
from lipgnn.spec.sources import Resolved, command_for
from lipgnn.tasks.saved import SavedModel, load_model

MODEL, SPEC, CARD, EXAMPLE = "model.safetensors", "spec.toml", "README.md", "example.py"
# The two-sided 95 % point of the normal distribution.
_Z = 1.959963984540054


@dataclass(frozen=True)
class Seeds:
    """The test scores of runs that differ in their seed alone, this model's among them."""

    n: int
    mean: float
    low: float | None
    high: float | None


def export(store: Store, reference: str, folder: Path, *, device: str = "auto", force: bool = False) -> dict[str, Path]:
    """Write the model of a run, or a model file, into a folder that is new or empty, or holds this very model.

    The model is evaluated on its own data before, as far as that is at hand, so that the card says no score that the
    file does not have.

    Parameters
    ----------
    reference : a run (see `Store.find`) or a model file.
    force : another model that was exported into the folder is replaced.

    Returns
    -------
    the files written, by what they are: `model`, `spec`, `card` and `example`.

    Raises
    ------
    UsageError : there is no such run, or the folder has other files or another model in it, or cannot be written to.
    DataError : the run has no model, or the file is none.
    """
    path = store.find_model(reference)
    saved = load_model(path)
    files = {"model": MODEL, "spec": SPEC, "card": CARD, "example": EXAMPLE}
    _check_folder(folder, set(files.values()))
    content = path.read_bytes()
    if not force:
        _check_same_model(folder, set(files.values()), content)
    scores = _scores(saved, device)
    result = Run(path.parent).result() if path.name == "best.safetensors" else None
    contents = {
        "model": content,
        "spec": _spec(saved.spec).encode(),
        "card": card(saved, scores, _seeds(store, saved, result), result).encode(),
        "example": example(saved).encode(),
    }
    for what, name in files.items():
        write_atomic(folder / name, contents[what])
    return {what: folder / name for what, name in files.items()}


def _check_folder(folder: Path, own: set[str]) -> None:
    if folder.is_file():
        raise UsageError(f"{str(folder)!r} is a file.", "Name a folder.")
    if folder.is_dir() and (others := sorted(path.name for path in folder.iterdir() if path.name not in own)):
        raise UsageError(f"Folder {str(folder)!r} has other files in it, {others[0]!r} for one.", "Name a new folder.")
    ensure_writable(folder, "Name another folder.")


def _check_same_model(folder: Path, own: set[str], content: bytes) -> None:
    """Refuse to write over files of the names of an export, unless they are of the same model."""
    there = sorted(name for name in own if (folder / name).exists())
    if there and not ((folder / MODEL).is_file() and (folder / MODEL).read_bytes() == content):
        what = "another model" if MODEL in there else f"{there[0]!r} of something else"
        raise UsageError(
            f"Folder {str(folder)!r} has {what} in it.",
            "Name a new folder, or replace what is there with --force (in Python, force=True).",
        )


def _scores(saved: SavedModel, device: str) -> dict[str, Any] | None:
    """The scores of the parts, and how many items each has; None where the data is not at hand."""
    try:
        data = data_for(saved)
    except DataError:
        return None
    found = evaluate(saved, data, choose_device(device)[0])
    counts = {part: int(mask.sum()) for part, mask in data.split.parts.items()}
    return {"metric": found.metric, "scores": found.accuracy, "counts": counts}


def _seeds(store: Store, saved: SavedModel, result: dict[str, Any] | None) -> Seeds | None:
    """Of the store, all finished runs of this data that differ in nothing but the seed."""
    if result is None:
        return None
    same = [name for name in FIELDS if name not in ("seed", *HOW)]
    scores = [
        row["test_score"]
        for row in store.finished()
        if row["fingerprint"] == saved.fingerprint
        and row["test_score"] is not None
        and all(row[name] == result[name] for name in same)
    ]
    if not scores:
        return None
    return seeds_of(scores)


def seeds_of(scores: list[float]) -> Seeds:
    """Mean and 95 % confidence interval by Student's t, of which one score has none."""
    n = len(scores)
    mean = math.fsum(scores) / n
    if n < 2:
        return Seeds(n, mean, None, None)
    from scipy.special import stdtrit

    error = math.sqrt(math.fsum((score - mean) ** 2 for score in scores) / (n - 1) / n)
    reach = float(stdtrit(n - 1, 0.975)) * error
    return Seeds(n, mean, mean - reach, mean + reach)


def wilson(share: float, n: int) -> tuple[float, float]:
    """The 95 % interval of a share that was found among n items (Wilson 1927)."""
    center = (share + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
    reach = _Z / (1 + _Z**2 / n) * math.sqrt(share * (1 - share) / n + _Z**2 / (4 * n**2))
    return center - reach, center + reach


def _spec(spec: RunSpec) -> str:
    return Resolved(spec, dict.fromkeys(FIELDS, "exported model")).to_toml()


def card(saved: SavedModel, scores: dict[str, Any] | None, seeds: Seeds | None, result: dict[str, Any] | None) -> str:
    """The model card: what the model is and from which data, how good it is, how it was made, and its limits."""
    spec = saved.spec
    parameters = sum(tensor.numel() for tensor in saved.network.parameters())
    command = command_for(spec) if result is None else result["command"]
    version = lipgnn.__version__ if result is None else result["version"]
    lines = [
        f"# {spec.model}, {spec.layers} layers, norm {spec.norm}, trained on {_plain(spec.dataset)}",
        "",
        f"This folder holds a network for task `{saved.task}` with {parameters:,} parameters. It was trained with "
        f"lipgnn {version}.",
        "",
        "## Data",
        "",
        f"The model was trained on data set `{_plain(spec.dataset)}`, split `{_plain(spec.split)}`, fingerprint "
        f"`{saved.fingerprint}`. {_ends(saved)}",
        "",
        "## Scores",
        "",
        *_score_lines(scores, seeds, result, spec),
        "",
        "## Use",
        "",
        "`python example.py` loads the model with lipgnn. On the command line:",
        "",
        "```sh",
        f"lipgnn predict {MODEL} --dataset YOUR-GRAPH -o predictions.csv",
        "```",
        "",
        "This command trained it; `spec.toml` has every option (`lipgnn train --config spec.toml`):",
        "",
        "```sh",
        _plain(command),
        "```",
        "",
        "## Limits",
        "",
        *(f"- {limit}" for limit in _limits(saved)),
        "",
    ]
    return "\n".join(lines)


def _ends(saved: SavedModel) -> str:
    """What goes into the network, and what comes out."""
    task, (features, outputs) = find_task(saved.task), saved.shape[:2]
    if task.outputs != "nodes" and not task.has_classes:
        return f"Its outputs are of {task.outputs}."
    names = ", ".join(saved.class_names) if saved.class_names else "numbers from 0 on"
    told = f"tells {outputs:,} classes apart" if task.has_classes else f"gives {outputs:,} yes-or-no labels"
    return f"It takes {features:,} features (form `{saved.spec.features}`) and {told}: {_plain(names)}."


def _score_lines(
    scores: dict[str, Any] | None, seeds: Seeds | None, result: dict[str, Any] | None, spec: RunSpec
) -> list[str]:
    if scores is None and result is None:
        return ["The data was not at hand when the model was exported, so no score is known."]
    found = scores or {
        "metric": result["metric"],
        "scores": {part: result[f"{part}_score"] for part in ("train", "val", "test")},
        "counts": {},
    }
    words = METRICS[found["metric"]].words
    lines = [f"| part | {words} | n | 95 % interval |", "|---|---|---|---|"]
    for part, score in found["scores"].items():
        n = found["counts"].get(part)
        shares = found["metric"] == "accuracy" and n and score is not None
        interval = " to ".join(f"{end:.4f}" for end in wilson(score, n)) if shares else "–"
        lines.append(f"| {part} | {'–' if score is None else f'{score:.4f}'} | {n or '–'} | {interval} |")
    lines += ["", "n counts the items of a part. The interval is Wilson's: it is about the choice of these items."]
    lines += [f"The epoch was chosen by {spec.select}; the test part had no say in it."]
    if scores is None:
        lines += ["The scores are those that the training noted; the data was not at hand to check them."]
    if seeds is not None and seeds.n > 1:
        lines += [
            f"Over {seeds.n} seeds the mean test {words} is {seeds.mean:.4f}, with a 95 % confidence interval of "
            f"{seeds.low:.4f} to {seeds.high:.4f} by Student's t."
        ]
    else:
        lines += ["This is one seed; how much another one would change the score is not known from it."]
    return lines


def _limits(saved: SavedModel) -> list[str]:
    limits = [
        "The scores hold for the data named above and for data like it. On other data they are not known.",
        f"The model takes exactly {saved.shape[0]:,} features, in the order that it was trained with; it cannot tell "
        "that they are in another order.",
        "It gives each of its classes a probability that was not calibrated, also where none of them is right.",
    ]
    if saved.task in ("nodes", "labels"):
        limits.append("It was trained on one graph. A graph with other degrees or other links may lead it astray.")
    if saved.spec.missing:
        limits.append(f"It was trained with the features of a share of {saved.spec.missing:g} of the nodes erased.")
    return [*limits, "How robust its predictions are says `lipgnn predict --certify`."]


def example(saved: SavedModel) -> str:
    """A program that loads the model and predicts, on a small graph of chance where the model is for graphs."""
    lines = [
        f'"""Loads the model beside this file; needs lipgnn {lipgnn.__version__} or later."""',
        "",
        "from pathlib import Path",
        "",
        *(["import numpy as np", ""] if saved.task in ("nodes", "labels") else []),
        "import lipgnn",
        "",
        f'model = lipgnn.load(Path(__file__).parent / "{MODEL}")',
    ]
    if saved.task in ("nodes", "labels") and len(saved.shape) == 2 and saved.spec.features != "svd":
        lines += [
            f"features = np.random.default_rng(0).random((4, {saved.shape[0]}), dtype=np.float32)  # put yours here",
            "edges = np.array([[0, 1, 2], [1, 2, 3]])  # from the upper row to the lower",
            "prediction = model.predict(edges, features)  # or a graph of DGL, PyG, networkx; or a file",
            "print(prediction.to_pandas())",
        ]
    else:
        lines += ["print(model)"]
    return "\n".join([*lines, ""])


def _plain(text: str) -> str:
    """Text that stays in its line and its fence."""
    return "".join(c if c.isprintable() and c != "`" else "?" for c in text)
